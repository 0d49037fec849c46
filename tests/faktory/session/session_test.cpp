#include "faktory/session/session.hpp"

#include "core/broker/broker.hpp"
#include "faktory/job/work_unit.hpp"
#include "faktory/service.hpp"
#include "faktory/session/command.hpp"
#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

std::string line_of(std::size_t queues) {
  std::string line = "FETCH";
  for (std::size_t i = 0; i < queues; ++i) line += " q" + std::to_string(i);
  return line;
}

bool is_kept(const std::string& line) {
  return LastFetch::is_worth_it(line, std::get<Fetch>(*parse_command(line)).queues.size());
}

}  // namespace

TEST_CASE("input after a waiting FETCH is bounded") {
  InMemoryServer server;
  join(server, "a", "w");
  CHECK(server.ask("a", "FETCH q\r\n").empty());
  const std::string beat = "BEAT {\"wid\":\"w\"}\r\n";
  std::string beats;
  for (int i = 0; i < 10'000; ++i) beats += beat;
  server.send("a", beats, 4096);
  CHECK(server.take_output("a").empty());
  server.advance(kFetchWait);
  CHECK(server.take_output("a").size() == 5 + 10'000 * 5);
}

TEST_CASE("a worker that is evicted during its FLUSH still gets the reply") {
  Time now{1s};
  Ledger ledger;
  WorkUnits format;
  Broker broker(ledger, format, {});
  Service service(broker, format, {}, now);
  const std::unique_ptr<Session> session = service.open();
  session->start(now);
  session->receive("HELLO {\"v\":2,\"wid\":\"w\"}\r\n", now);
  for (std::size_t i = 0; i < 2 * kSliceJobs + 1; ++i) {
    CHECK(broker.put({.queue = "q", .due = now + 1h}, now));
  }
  session->receive("FLUSH\r\n", now);
  now += 2 * kHeartbeatLimit;
  broker.tick(now);
  CHECK(session->wants_close());
  broker.tick(now);
  CHECK(broker.view().orders().count(JobState::kScheduled) == 0);
  CHECK(session->take_output().ends_with("+OK\r\n+OK\r\n"));
  session->close(now);
}

TEST_CASE("a client that does not read stops being served, and continues later") {
  InMemoryServer server;
  join(server, "a");
  CHECK(contains(server.ask("a", "INFO\r\n"), "\"now\""));
  server.hold_output("a", true);
  std::string commands;
  for (int i = 0; i < 2'000; ++i) commands += "INFO\r\n";
  server.send("a", commands);
  server.hold_output("a", false);
  const std::string output = server.take_output("a");
  CHECK(contains(output, "\"command_count\":2001,"));
}

TEST_CASE("last fetch: it knows the line and its names, wherever they were read") {
  std::string line = line_of(LastFetch::kQueuesMin);
  LastFetch last(line, std::get<Fetch>(*parse_command(line)).queues);
  line.assign(line.size(), 'x');
  CHECK(last.is(line_of(LastFetch::kQueuesMin)));
  CHECK_FALSE(last.is(line_of(LastFetch::kQueuesMin + 1)));
  CHECK(last.request().queues.size() == LastFetch::kQueuesMin);
  CHECK(last.request().queues[1] == "q1");
}

TEST_CASE("last fetch: a line of few queues is not kept, nor one that is too long") {
  const std::string line = line_of(LastFetch::kQueuesMin);
  CHECK(is_kept(line));
  CHECK_FALSE(is_kept(line_of(LastFetch::kQueuesMin - 1)));
  const std::string longest = line + std::string(LastFetch::kLineBytesMax - line.size(), ' ');
  CHECK(is_kept(longest));
  CHECK_FALSE(is_kept(longest + " "));
}

}  // namespace millrace::faktory
