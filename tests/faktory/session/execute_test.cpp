#include "faktory/session/session.hpp"
#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

/// A worker, and a producer named `push` that has pushed the job 12345678.
struct OneJob {
  OneJob() {
    join(server, "worker", "w");
    join(server, "push");
    CHECK(server.ask("push", "PUSH " + job("12345678") + "\r\n") == "+OK\r\n");
  }

  InMemoryServer server;
};

}  // namespace

TEST_CASE("FETCH: a waiting worker gets exactly the job that another client pushes") {
  InMemoryServer server;
  join(server, "worker", "w");
  join(server, "push");
  CHECK(server.ask("worker", "FETCH default\r\n").empty());
  CHECK(server.ask("push", "PUSH " + job("12345678") + "\r\n") == "+OK\r\n");
  const std::string text =
      R"({"retry":25,"jid":"12345678","queue":"default","jobtype":"T","created_at":"c",)"
      R"("enqueued_at":"2023-11-14T22:13:20Z","args":[]})";
  CHECK(server.take_output("worker") == "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n");
  server.connect("peek", Protocol::kBeanstalk);
  CHECK(server.ask("push", "PUSH " + job("23456789") + "\r\n") == "+OK\r\n");
  CHECK(contains(server.ask("peek", "peek-ready\r\n"), "\r\n{\"retry\":25,\"jid\":\"23456789\""));
}

TEST_CASE("FLUSH: more jobs than one slice") {
  InMemoryServer server;
  join(server, "a");
  std::string jobs;
  for (int i = 0; i < 1'201; ++i) jobs += "," + job("job-" + std::to_string(100'000 + i));
  CHECK(server.ask("a", "PUSHB [" + jobs.substr(1) + "]\r\n") == "$2\r\n{}\r\n");
  CHECK(server.ask("a", "FLUSH\r\n") == "+OK\r\n");
  CHECK(contains(info(server, "a"), R"("total_enqueued":0)"));
}

TEST_CASE("a scheduled job that is pushed has no queue until it is due") {
  InMemoryServer server;
  join(server, "a");
  CHECK(server.ask("a", "PUSH " + job("12345678", R"(,"at":"2023-11-14T22:14:20Z")") + "\r\n") ==
        "+OK\r\n");
  CHECK(contains(info(server, "a"), R"("scheduled":1)"));
  server.advance(60s);
  CHECK(contains(info(server, "a"),
                 R"("queues":{"default":1},"sets":{"dead":0,"retries":0,"scheduled":0)"));
}

TEST_CASE("a pushed failure is honoured by the retry rule") {
  InMemoryServer server;
  join(server, "a");
  const std::string failure =
      R"(,"retry":2,"failure":{"retry_count":1,"remaining":1,"errtype":"E","message":"m"})";
  CHECK(server.ask("a", "PUSH " + job("12345678", failure) + "\r\n") == "+OK\r\n");
  CHECK(contains(server.ask("a", "FETCH default\r\n"), R"("retry_count":1,"remaining":1)"));
  CHECK(server.ask("a", "FAIL {\"jid\":\"12345678\"}\r\n") == "+OK\r\n");
  CHECK(contains(info(server, "a"), R"("dead":1)"));
}

TEST_CASE("a backtrace of 60 lines is cut to 50") {
  InMemoryServer server;
  join(server, "a");
  CHECK(server.ask("a", "PUSH " + job("12345678", R"(,"retry":1)") + "\r\n") == "+OK\r\n");
  CHECK(contains(server.ask("a", "FETCH default\r\n"), "12345678"));
  std::string backtrace = "\"line0\"";
  for (int i = 1; i < 60; ++i) backtrace += ",\"line" + std::to_string(i) + "\"";
  CHECK(server.ask("a", "FAIL {\"jid\":\"12345678\",\"backtrace\":[" + backtrace + "]}\r\n") ==
        "+OK\r\n");
  server.advance(45s);
  const std::string text = server.ask("a", "FETCH default\r\n");
  CHECK(contains(text, R"("line49"])"));
}

TEST_CASE_FIXTURE(OneJob, "fetch: a job whose reply could not be sent is given back") {
  server.hold_output("worker", true);
  server.send("worker", "FETCH default\r\n");
  CHECK(contains(info(server, "push"), R"("working":1)"));
  server.close("worker");
  const std::string after = info(server, "push");
  CHECK(contains(after, R"("queues":{"default":1})"));
  CHECK(contains(after, R"("total_failures":0,"total_processed":0)"));
}

TEST_CASE_FIXTURE(OneJob, "fetch: a job whose reply was sent stays with its worker") {
  server.send("worker", "FETCH default\r\n");
  server.close("worker");
  CHECK(contains(info(server, "push"), R"("working":1)"));
}

TEST_CASE_FIXTURE(OneJob, "fetch: of several, those are given back whose replies were not sent") {
  CHECK(server.ask("push", "PUSH " + job("23456789") + "\r\n") == "+OK\r\n");
  CHECK(contains(server.ask("worker", "INFO\r\nFETCH default\r\n"), "12345678"));
  server.hold_output("worker", true);
  server.send("worker", "INFO\r\nFETCH default\r\n");
  server.close("worker");
  CHECK(contains(info(server, "push"), R"("working":1)"));
  CHECK(contains(server.ask("push", "FETCH default\r\n"), "23456789"));
}

TEST_CASE_FIXTURE(OneJob,
                  "fetch: a job that is given back does not go to the connection that is closing") {
  server.hold_output("worker", true);
  server.send("worker", "FETCH default\r\nFETCH default\r\n");
  server.close("worker");
  CHECK(contains(info(server, "push"), R"("working":0)"));
}

TEST_CASE_FIXTURE(OneJob, "fetch: a job that was acknowledged elsewhere is not given back") {
  server.hold_output("worker", true);
  server.send("worker", "FETCH default\r\n");
  CHECK(server.ask("push", "ACK {\"jid\":\"12345678\"}\r\n") == "+OK\r\n");
  server.close("worker");
  CHECK(contains(info(server, "push"), R"("total_processed":1)"));
}

TEST_CASE("fetch: what a worker waits for is a tube as long as it waits, and no queue of INFO") {
  InMemoryServer server;
  join(server, "worker", "w");
  server.connect("tube", Protocol::kBeanstalk);
  server.send("worker", "FETCH ghost\r\n");
  CHECK(contains(server.ask("tube", "list-tubes\r\n"), "- ghost\n"));
  join(server, "asks");
  CHECK_FALSE(contains(info(server, "asks"), "ghost"));
  server.advance(kFetchWait);
  CHECK_FALSE(contains(server.ask("tube", "list-tubes\r\n"), "- ghost\n"));
}

TEST_CASE("mutate: a long one is answered when it is through") {
  InMemoryServer server;
  join(server, "a");
  std::string batch = "PUSHB [";
  for (int i = 0; i < 1'200; ++i) {
    batch += (i == 0 ? "" : ",") +
             job("job-" + std::to_string(10'000 + i), R"(,"at":"2100-01-01T00:00:00Z")");
  }
  CHECK(server.ask("a", batch + "]\r\n") == "$2\r\n{}\r\n");
  CHECK(server
            .ask("a",
                 "MUTATE {\"cmd\":\"kill\",\"target\":\"scheduled\",\"filter\":"
                 "{\"jobtype\":\"T\"}}\r\nTRACK\r\n")
            .starts_with("+OK\r\n-ERR no such TRACK"));
  CHECK(contains(info(server, "a"), R"("dead":1200)"));
}

}  // namespace millrace::faktory
