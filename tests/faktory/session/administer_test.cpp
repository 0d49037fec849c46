#include "core/broker/features/activity.hpp"
#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

/// The changes that were noted, the latest first: action, details, number.
std::vector<std::string> noted(Broker& broker) {
  std::vector<std::string> changes;
  const AuditLog& log = broker.activity().log();
  log.each_before(log.end(), [&](AuditLog::Number, const Change& change) {
    const bool is_counted = change.outcome == ChangeOutcome::kCounted;
    changes.push_back(change.action + ": " + change.target + change.details + ": " +
                      (is_counted ? std::to_string(change.count) : "?"));
    return true;
  });
  return changes;
}

/// From where a client with that peer seems to come.
std::string from_of(std::string_view peer) {
  InMemoryServer server;
  const WorkUnits format;
  Service service(server.broker(), format, {}, server.now());
  const std::unique_ptr<Session> session = service.open(std::string(peer));
  session->start(server.now());
  session->receive("HELLO {\"v\":2}\nFLUSH\n", server.now());
  std::string from;
  server.broker().activity().log().each_before(2, [&](AuditLog::Number, const Change& change) {
    from = change.from;
    return true;
  });
  session->close(server.now());
  return from;
}

TEST_CASE("administration: changes are noted with their number") {
  InMemoryServer server;
  join(server, "worker", "w1");
  CHECK(server.ask("worker", "PUSH " + job("12345678", R"(,"at":"2100-01-01T00:00:00Z")") +
                                 "\r\n") == "+OK\r\n");
  CHECK(server.ask("worker", "PUSH " + job("23456789") + "\r\n") == "+OK\r\n");
  CHECK(server.ask("worker", "QUEUE PAUSE default none\r\n") == "+OK\r\n");
  CHECK(server.ask("worker", "QUEUE RESUME *\r\n") == "+OK\r\n");
  CHECK(server.ask("worker", R"(MUTATE {"cmd":"kill","target":"scheduled","filter":{"jobtype":"T",)"
                             R"("jids":["12345678","x"]}})"
                             "\r\n") == "+OK\r\n");
  CHECK(server.ask("worker", "QUEUE REMOVE default\r\n") == "+OK\r\n");
  CHECK(server.ask("worker", "FLUSH\r\n") == "+OK\r\n");
  CHECK(noted(server.broker()) ==
        std::vector<std::string>{"flush: everything: ?", "queues/delete: default: 1",
                                 "mutate: kill scheduled jobs with type \"T\", one of 2 jids: 1",
                                 "queues/resume: all queues: 1", "queues/pause: default, none: 1"});
}

TEST_CASE("administration: what takes several turns has its number, too") {
  InMemoryServer server;
  join(server, "a");
  std::string jobs;
  for (int i = 0; i < 1'201; ++i) jobs += "," + job("job-" + std::to_string(100'000 + i));
  CHECK(server.ask("a", "PUSHB [" + jobs.substr(1) + "]\r\n") == "$2\r\n{}\r\n");
  CHECK(server.ask("a", "QUEUE REMOVE default\r\n") == "+OK\r\n");
  CHECK(noted(server.broker()).front() == "queues/delete: default: 1201");
}

TEST_CASE("administration: addresses are told as people write them") {
  using namespace std::string_view_literals;
  CHECK(from_of("\x7f\0\0\x01"sv) == "127.0.0.1");
  CHECK(from_of("\x20\x01\x0d\xb8\0\0\0\x01"sv) == "2001:0db8:0000:0001::/64");
  CHECK(from_of("unix socket") == "unix socket");
}

}  // namespace
}  // namespace millrace::faktory
