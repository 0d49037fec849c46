#include "faktory/session/session.hpp"
#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {

TEST_CASE("both protocols: put text arrives as a work unit") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  CHECK(house.ask("put", "use mail\r\nput 0 0 10 5\r\nhello\r\n") ==
        "USING mail\r\nINSERTED 1\r\n");
  CHECK(payload(house.ask("worker", "FETCH mail\r\n")) ==
        R"({"retry":25,"jid":"beanstalk-1","queue":"mail","jobtype":"beanstalk",)"
        R"("created_at":"2023-11-14T22:13:20Z","enqueued_at":"2023-11-14T22:13:20Z",)"
        R"("args":["hello"],"reserve_for":10})");
  CHECK(house.ask("worker", "ACK {\"jid\":\"beanstalk-1\"}\r\n") == "+OK\r\n");
  CHECK(house.ask("put", "stats-job 1\r\n") == "NOT_FOUND\r\n");
}

TEST_CASE("both protocols: put JSON that is a work unit") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  const std::string body = R"({"jobtype":"T","args":[1]})";
  CHECK(house.ask("put", "put 0 0 10 26\r\n" + body + "\r\n") == "INSERTED 1\r\n");
  CHECK(contains(house.ask("worker", "FETCH default\r\n"),
                 R"("jid":"beanstalk-1","queue":"default","jobtype":"T")"));
}

TEST_CASE("both protocols: put bytes arrive in base64") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  CHECK(house.ask("put", "put 0 0 10 2\r\n\xFF\xFE\r\n") == "INSERTED 1\r\n");
  const std::string text = house.ask("worker", "FETCH default\r\n");
  CHECK(contains(text, R"("custom":{"encoding":"base64"})"));
  CHECK(contains(text, R"("args":["//4="])"));
}

TEST_CASE("both protocols: a put job that fails is retried, and released for beanstalk too") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  CHECK(house.ask("put", "put 0 0 10 1\r\nx\r\n") == "INSERTED 1\r\n");
  CHECK(contains(house.ask("worker", "FETCH default\r\n"), "beanstalk-1"));
  CHECK(house.ask("worker", "FAIL {\"jid\":\"beanstalk-1\"}\r\n") == "+OK\r\n");
  CHECK(contains(house.ask("put", "stats-job 1\r\n"), "state: delayed"));
  house.advance(45s);
  CHECK(contains(house.ask("put", "reserve-with-timeout 0\r\n"), "RESERVED 1 1\r\nx\r\n"));
}

TEST_CASE("both protocols: a reservation of a put job lasts its own TTR") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  CHECK(house.ask("put", "put 0 0 3 1\r\nx\r\n") == "INSERTED 1\r\n");
  CHECK(contains(house.ask("worker", "FETCH default\r\n"), "beanstalk-1"));
  house.advance(3s);
  CHECK(contains(info(house, "worker"), R"("retries":1)"));
}

TEST_CASE("both protocols: a pushed job is reserved as the JSON that FETCH returns") {
  House house;
  house.connect("reserve", Protocol::kBeanstalk);
  join(house, "push");
  CHECK(house.ask("push", "PUSH " + job("12345678", R"(,"reserve_for":90)") + "\r\n") == "+OK\r\n");
  const std::string text =
      R"({"retry":25,"jid":"12345678","queue":"default","jobtype":"T","created_at":"c",)"
      R"("enqueued_at":"2023-11-14T22:13:20Z","args":[],"reserve_for":90})";
  CHECK(house.ask("reserve", "reserve\r\n") ==
        "RESERVED 1 " + std::to_string(text.size()) + "\r\n" + text + "\r\n");
  CHECK(contains(house.ask("reserve", "stats-job 1\r\n"), "ttr: 90\n"));
  CHECK(house.ask("reserve", "delete 1\r\n") == "DELETED\r\n");
  CHECK(contains(info(house, "push"), R"("total_processed":1)"));
}

TEST_CASE("both protocols: a pushed job that is buried is dead") {
  House house;
  house.connect("reserve", Protocol::kBeanstalk);
  join(house, "push");
  CHECK(house.ask("push", "PUSH " + job("12345678") + "\r\n") == "+OK\r\n");
  CHECK(contains(house.ask("reserve", "reserve\r\n"), "RESERVED 1"));
  CHECK(house.ask("reserve", "bury 1 0\r\n") == "BURIED\r\n");
  CHECK(contains(info(house, "push"), R"("dead":1)"));
}

TEST_CASE("both protocols: a fetching worker wakes up for a put") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  CHECK(house.ask("worker", "FETCH default\r\n").empty());
  CHECK(house.ask("put", "put 0 0 10 1\r\nx\r\n") == "INSERTED 1\r\n");
  CHECK(contains(house.take_output("worker"), "beanstalk-1"));
}

TEST_CASE("both protocols: tubes with names of their own are not for FWP") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  CHECK(house.ask("put", "use a+b\r\nput 0 0 10 1\r\nx\r\n") == "USING a+b\r\nINSERTED 1\r\n");
  CHECK(house.ask("worker", "FETCH a+b\r\n").empty());
  house.advance(kFetchWait);
  CHECK(house.take_output("worker") == "$-1\r\n");
  CHECK(house.ask("worker", "QUEUE PAUSE *\r\n") == "+OK\r\n");
  CHECK(contains(house.ask("put", "watch a+b\r\nreserve-with-timeout 0\r\n"), "RESERVED 1 1"));
}

}  // namespace millrace::faktory
