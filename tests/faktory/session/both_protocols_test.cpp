#include "faktory/session/session.hpp"
#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {

TEST_CASE("both protocols: put text arrives as a work unit") {
  InMemoryServer server;
  server.connect("put", Protocol::kBeanstalk);
  join(server, "worker", "w");
  CHECK(server.ask("put", "use mail\r\nput 0 0 10 5\r\nhello\r\n") ==
        "USING mail\r\nINSERTED 1\r\n");
  CHECK(payload(server.ask("worker", "FETCH mail\r\n")) ==
        R"({"retry":25,"jid":"beanstalk-1","queue":"mail","jobtype":"beanstalk",)"
        R"("created_at":"2023-11-14T22:13:20Z","enqueued_at":"2023-11-14T22:13:20Z",)"
        R"("args":["hello"],"reserve_for":10})");
  CHECK(server.ask("worker", "ACK {\"jid\":\"beanstalk-1\"}\r\n") == "+OK\r\n");
  CHECK(server.ask("put", "stats-job 1\r\n") == "NOT_FOUND\r\n");
}

TEST_CASE("both protocols: put JSON that is a work unit") {
  InMemoryServer server;
  server.connect("put", Protocol::kBeanstalk);
  join(server, "worker", "w");
  const std::string body = R"({"jobtype":"T","args":[1]})";
  CHECK(server.ask("put", "put 0 0 10 26\r\n" + body + "\r\n") == "INSERTED 1\r\n");
  CHECK(contains(server.ask("worker", "FETCH default\r\n"),
                 R"("jid":"beanstalk-1","queue":"default","jobtype":"T")"));
}

TEST_CASE("both protocols: put bytes arrive in base64") {
  InMemoryServer server;
  server.connect("put", Protocol::kBeanstalk);
  join(server, "worker", "w");
  CHECK(server.ask("put", "put 0 0 10 2\r\n\xFF\xFE\r\n") == "INSERTED 1\r\n");
  const std::string text = server.ask("worker", "FETCH default\r\n");
  CHECK(contains(text, R"("custom":{"encoding":"base64"})"));
  CHECK(contains(text, R"("args":["//4="])"));
}

TEST_CASE("both protocols: a put job that fails is retried, and released for beanstalk too") {
  InMemoryServer server;
  server.connect("put", Protocol::kBeanstalk);
  join(server, "worker", "w");
  CHECK(server.ask("put", "put 0 0 10 1\r\nx\r\n") == "INSERTED 1\r\n");
  CHECK(contains(server.ask("worker", "FETCH default\r\n"), "beanstalk-1"));
  CHECK(server.ask("worker", "FAIL {\"jid\":\"beanstalk-1\"}\r\n") == "+OK\r\n");
  CHECK(contains(server.ask("put", "stats-job 1\r\n"), "state: delayed"));
  server.advance(45s);
  CHECK(contains(server.ask("put", "reserve-with-timeout 0\r\n"), "RESERVED 1 1\r\nx\r\n"));
}

TEST_CASE("both protocols: a reservation of a put job lasts its own TTR") {
  InMemoryServer server;
  server.connect("put", Protocol::kBeanstalk);
  join(server, "worker", "w");
  CHECK(server.ask("put", "put 0 0 3 1\r\nx\r\n") == "INSERTED 1\r\n");
  CHECK(contains(server.ask("worker", "FETCH default\r\n"), "beanstalk-1"));
  server.advance(3s);
  CHECK(contains(info(server, "worker"), R"("retries":1)"));
}

TEST_CASE("both protocols: a pushed job is reserved as the JSON that FETCH returns") {
  InMemoryServer server;
  server.connect("reserve", Protocol::kBeanstalk);
  join(server, "push");
  CHECK(server.ask("push", "PUSH " + job("12345678", R"(,"reserve_for":90)") + "\r\n") ==
        "+OK\r\n");
  const std::string text =
      R"({"retry":25,"jid":"12345678","queue":"default","jobtype":"T","created_at":"c",)"
      R"("enqueued_at":"2023-11-14T22:13:20Z","args":[],"reserve_for":90})";
  CHECK(server.ask("reserve", "reserve\r\n") ==
        "RESERVED 1 " + std::to_string(text.size()) + "\r\n" + text + "\r\n");
  CHECK(contains(server.ask("reserve", "stats-job 1\r\n"), "ttr: 90\n"));
  CHECK(server.ask("reserve", "delete 1\r\n") == "DELETED\r\n");
  CHECK(contains(info(server, "push"), R"("total_processed":1)"));
}

TEST_CASE("both protocols: a pushed job that is buried is dead") {
  InMemoryServer server;
  server.connect("reserve", Protocol::kBeanstalk);
  join(server, "push");
  CHECK(server.ask("push", "PUSH " + job("12345678") + "\r\n") == "+OK\r\n");
  CHECK(contains(server.ask("reserve", "reserve\r\n"), "RESERVED 1"));
  CHECK(server.ask("reserve", "bury 1 0\r\n") == "BURIED\r\n");
  CHECK(contains(info(server, "push"), R"("dead":1)"));
}

TEST_CASE("both protocols: a fetching worker wakes up for a put") {
  InMemoryServer server;
  server.connect("put", Protocol::kBeanstalk);
  join(server, "worker", "w");
  CHECK(server.ask("worker", "FETCH default\r\n").empty());
  CHECK(server.ask("put", "put 0 0 10 1\r\nx\r\n") == "INSERTED 1\r\n");
  CHECK(contains(server.take_output("worker"), "beanstalk-1"));
}

TEST_CASE("both protocols: tubes with names of their own are not for FWP") {
  InMemoryServer server;
  server.connect("put", Protocol::kBeanstalk);
  join(server, "worker", "w");
  CHECK(server.ask("put", "use a+b\r\nput 0 0 10 1\r\nx\r\n") == "USING a+b\r\nINSERTED 1\r\n");
  CHECK(server.ask("worker", "FETCH a+b\r\n").empty());
  server.advance(kFetchWait);
  CHECK(server.take_output("worker") == "$-1\r\n");
  CHECK(server.ask("worker", "QUEUE PAUSE *\r\n") == "+OK\r\n");
  CHECK(contains(server.ask("put", "watch a+b\r\nreserve-with-timeout 0\r\n"), "RESERVED 1 1"));
}

}  // namespace millrace::faktory
