#include "simulation/failover/failover_runner.hpp"

#include <deque>
#include <stdexcept>

#include "simulation/violation.hpp"

namespace millrace::simulation {

FailoverEnd run_failover(const Failover::Options& options) {
  FailoverEnd end;
  Failover world(options);
  try {
    world.run();
  } catch (const std::runtime_error& problem) {
    end.violation = problem.what();
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

}  // namespace millrace::simulation
