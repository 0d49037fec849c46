#include "simulation/failover/failover_runner.hpp"

#include <deque>

#include "simulation/violation.hpp"

namespace millrace::simulation {

FailoverEnd run_failover(const Failover::Options& options) {
  FailoverEnd end;
  Failover world(options);
  try {
    world.run();
  } catch (const Violation& violation) {
    end.violation = violation.what();
  }
  end.totals = world.totals();
  return end;
}

std::string last_failover_events(Failover::Options options, std::size_t count) {
  std::deque<std::string> events;
  options.trace = [&](const std::string& event) {
    events.push_back(event);
    if (events.size() > count) events.pop_front();
  };
  (void)run_failover(options);
  std::string text;
  for (const std::string& event : events) {
    text += event.substr(0, event.find_last_not_of("\r\n") + 1) + "\n";
  }
  return text;
}

std::string to_text(const FailoverTotals& totals) {
  const auto row = [](std::uint64_t number, const std::string& what) {
    return std::to_string(number) + " " + what + "\n";
  };
  return row(totals.worlds, "worlds of two servers") +
         row(totals.operations, "operations of their clients") +
         row(totals.replies, "replies received") + row(totals.batches, "batches accepted") +
         row(totals.batches_lost, "of them lost with their leader, that nobody had heard of") +
         row(totals.takeovers, "takeovers") +
         row(totals.claims_behind, "claims refused, since not everything was applied") +
         row(totals.answers_lost, "requests or answers of the log that were lost") +
         row(totals.fallen_behind, "standbys that found the log trimmed and read it anew") +
         row(totals.unheard_commands, "commands to a deposed leader, without an answer") +
         row(totals.segments_removed, "segments removed by compaction");
}

}  // namespace millrace::simulation
