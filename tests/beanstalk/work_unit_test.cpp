#include <string>

#include "support/doctest.hpp"
#include "support/in_memory_server.hpp"

/// What was pushed over the Faktory protocol, as a beanstalk client sees it.
namespace millrace::test {
namespace {

/// A server in memory with one pushed job: jid j1, queue mail, reserve_for 600, id 1.
class PushedJob {
 public:
  PushedJob() {
    server.connect("pusher", Protocol::kFaktory);
    server.connect("client", Protocol::kBeanstalk);
    server.send("pusher",
                "HELLO {\"v\":2}\r\n"
                "PUSH {\"jid\":\"j1-long-enough\",\"jobtype\":\"Mail\",\"args\":[1,\"a b\"],"
                "\"queue\":\"mail\",\"reserve_for\":600}\r\n");
    REQUIRE(server.take_output("pusher") == "+HI {\"v\":2}\r\n+OK\r\n+OK\r\n");
    REQUIRE(ask("watch mail\r\nuse mail\r\n") == "WATCHING 2\r\nUSING mail\r\n");
  }

  std::string ask(std::string_view bytes) { return server.ask("client", bytes); }

  /// The body of a FOUND or RESERVED reply, whose size is checked.
  std::string body(const std::string& reply, const std::string& head) {
    auto line_end = reply.find("\r\n");
    REQUIRE(line_end != std::string::npos);
    std::string text = reply.substr(line_end + 2, reply.size() - line_end - 4);
    CHECK(reply == head + std::to_string(text.size()) + "\r\n" + text + "\r\n");
    return text;
  }

  InMemoryServer server;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("work unit: reserve and peek show it as FETCH does") {
  PushedJob pushed;
  std::string peeked = pushed.body(pushed.ask("peek-ready\r\n"), "FOUND 1 ");
  CHECK(contains(peeked, "\"jid\":\"j1-long-enough\",\"queue\":\"mail\",\"jobtype\":\"Mail\""));
  CHECK(contains(peeked, "\"args\":[1,\"a b\"]"));
  CHECK(pushed.body(pushed.ask("reserve\r\n"), "RESERVED 1 ") == peeked);
}

TEST_CASE("work unit: its reserve_for is the ttr") {
  PushedJob pushed;
  pushed.ask("reserve\r\n");
  CHECK(contains(pushed.ask("stats-job 1\r\n"), "\nttr: 600\ntime-left: 600\n"));
}

TEST_CASE("work unit: delete counts as processed") {
  PushedJob pushed;
  pushed.ask("reserve\r\n");
  CHECK(pushed.ask("delete 1\r\n") == "DELETED\r\n");
  CHECK(pushed.server.broker().view().counters().processed == 1);
}

TEST_CASE("work unit: release puts it back without a failure") {
  PushedJob pushed;
  pushed.ask("reserve\r\n");
  CHECK(pushed.ask("release 1 7 0\r\n") == "RELEASED\r\n");
  const Job* job = pushed.server.broker().view().jobs().find(1);
  CHECK(job->state == JobState::kReady);
  CHECK(job->failure() == nullptr);
}

TEST_CASE("work unit: bury makes it dead") {
  PushedJob pushed;
  pushed.ask("reserve\r\n");
  CHECK(pushed.ask("bury 1 7\r\n") == "BURIED\r\n");
  CHECK(pushed.server.broker().view().jobs().find(1)->state == JobState::kDead);
}

TEST_CASE("work unit: what a worker holds is reserved by another") {
  PushedJob pushed;
  CHECK(contains(pushed.server.ask("pusher", "FETCH mail\r\n"), "j1-long-enough"));
  CHECK(contains(pushed.ask("stats-job 1\r\n"), "\nstate: reserved\n"));
  CHECK(pushed.ask("delete 1\r\n") == "NOT_FOUND\r\n");
  CHECK(pushed.ask("reserve-job 1\r\n") == "NOT_FOUND\r\n");
}

TEST_CASE("work unit: a failed one is delayed, and kick-job retries it now") {
  PushedJob pushed;
  pushed.server.send("pusher", "FETCH mail\r\nFAIL {\"jid\":\"j1-long-enough\"}\r\n");
  CHECK(contains(pushed.ask("stats-job 1\r\n"), "\nstate: delayed\n"));
  CHECK(pushed.ask("kick-job 1\r\n") == "KICKED\r\n");
  CHECK(contains(pushed.ask("stats-job 1\r\n"), "\nstate: ready\n"));
}

TEST_CASE("work unit: a client that waits is served by a push") {
  InMemoryServer server;
  server.connect("pusher", Protocol::kFaktory);
  server.connect("client", Protocol::kBeanstalk);
  server.send("client", "reserve\r\n");
  server.send("pusher",
              "HELLO {\"v\":2}\r\n"
              "PUSH {\"jid\":\"j1-long-enough\",\"jobtype\":\"Mail\",\"args\":[]}\r\n");
  CHECK(server.take_output("client").starts_with("RESERVED 1 "));
}

TEST_CASE("work unit: a put job is fetched by a worker, and is gone when acknowledged") {
  InMemoryServer server;
  server.connect("worker", Protocol::kFaktory);
  server.connect("client", Protocol::kBeanstalk);
  server.send("client", "put 0 0 60 5\r\nhello\r\n");
  CHECK(contains(server.ask("worker", "HELLO {\"v\":2}\r\nFETCH default\r\n"),
                 "\"args\":[\"hello\"]"));
  CHECK(server.ask("worker", "ACK {\"jid\":\"beanstalk-1\"}\r\n") == "+OK\r\n");
  CHECK(server.ask("client", "peek 1\r\n") == "INSERTED 1\r\nNOT_FOUND\r\n");
}

}  // namespace millrace::test
