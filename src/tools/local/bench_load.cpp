#include "tools/local/bench_load.hpp"

#include <algorithm>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

namespace millrace::tools {
namespace {

using BenchClock = std::chrono::steady_clock;

/// What one thread has seen.
struct BenchPart {
  std::vector<std::chrono::nanoseconds> times;
  BenchClock::time_point end{};  ///< of its last step: to find nothing may take long
  std::optional<Problem> problem;
};

void run_steps(const BenchStep& step, BenchClock::time_point end, BenchPart& part) {
  auto begun = BenchClock::now();
  while (begun < end) {
    const auto done = step();
    const auto now = BenchClock::now();
    if (!done) {
      part.problem = done.error();
      return;
    }
    if (!*done) return;
    part.times.push_back(now - begun);
    part.end = now;
    begun = now;
  }
}

}  // namespace

Outcome<BenchResult> run_load(const BenchLoad& load, const ConnectBench& connect) {
  std::vector<BenchStep> steps;
  for (std::size_t i = 0; i < load.connections; ++i) {
    auto step = connect(i);
    if (!step) return step.error();
    steps.push_back(std::move(*step));
  }
  std::vector<BenchPart> parts(load.connections);
  std::latch start(static_cast<std::ptrdiff_t>(load.connections));
  const auto begun = BenchClock::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < load.connections; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        run_steps(steps[i], begun + load.time, parts[i]);
      });
    }
  }
  BenchClock::time_point end = begun;
  std::vector<std::chrono::nanoseconds> times;
  for (const BenchPart& part : parts) {
    if (part.problem) return *part.problem;
    end = std::max(end, part.end);
    times.insert(times.end(), part.times.begin(), part.times.end());
  }
  if (times.empty()) return Problem{"nothing was measured"};
  std::ranges::sort(times);
  const std::chrono::duration<double> took = end - begun;
  return BenchResult{.per_second = static_cast<double>(times.size()) / took.count(),
                     .median = times[times.size() / 2],
                     .slowest_of_hundred = times[times.size() * 99 / 100]};
}

}  // namespace millrace::tools
