// A load generator for both protocols of a running server. Prints one line of JSON: operations,
// seconds, latencies in microseconds (from send to reply; in the open loop from when the operation
// was due; of a bundle when --depth is more than 1), and the server's processor time for each
// operation. SIGTERM ends it early; after SIGUSR1 latencies are counted anew.

#include <atomic>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "generator.hpp"
#include "options.hpp"
#include "processor_time.hpp"

namespace {

double microseconds(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

/// What signals are for, while it runs.
std::atomic<bench::Generator*> told = nullptr;

void take_signals(bench::Generator& generator) {
  told = &generator;
  std::signal(SIGTERM, [](int) { told.load()->finish(); });
  std::signal(SIGUSR1, [](int) { told.load()->forget(); });
}

void work(const bench::Options& options) {
  const bench::Plan& plan = options.plan;
  bench::Generator generator(plan);
  take_signals(generator);
  generator.connect();
  const double cpu_before = plan.server_pid != 0 ? bench::processor_seconds(plan.server_pid) : 0;
  generator.run();
  const double cpu =
      plan.server_pid != 0 ? bench::processor_seconds(plan.server_pid) - cpu_before : 0;
  generator.drain();
  const auto done = static_cast<double>(generator.done());
  const bench::Histogram& latencies = generator.latencies();
  const bench::Histogram& replies = generator.replies();
  const auto of_replies = [&](double value) {
    return plan.depth > 1 ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
  };
  const nlohmann::ordered_json report = {
      {"work", options.works},
      {"connections", plan.connections},
      {"depth", plan.depth},
      {"queues", plan.queues},
      {"operations", generator.done()},
      {"payload_bytes", static_cast<double>(generator.deliveries().payload_bytes()) / done},
      {"taken", generator.deliveries().came()},
      {"seconds", generator.seconds()},
      {"per_second", done / generator.seconds()},
      {"server_cpu_us", plan.server_pid != 0 ? nlohmann::ordered_json(1e6 * cpu / done) : nullptr},
      {"p50_us", microseconds(latencies.percentile(0.5))},
      {"p99_us", microseconds(latencies.percentile(0.99))},
      {"p999_us", microseconds(latencies.percentile(0.999))},
      {"max_us", microseconds(latencies.max())},
      {"reply_p99_us", of_replies(microseconds(replies.percentile(0.99)))},
      {"reply_max_us", of_replies(microseconds(replies.max()))}};
  std::printf("%s\n", report.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bench::Options options = bench::read_options(argc, argv);
    if (options.help.empty()) {
      work(options);
    } else {
      std::fputs(options.help.c_str(), stdout);
    }
  } catch (const std::invalid_argument& refusal) {
    std::fprintf(stderr, "load: %s\n", refusal.what());
    return 2;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "load: %s\n", failure.what());
    return 1;
  }
  return 0;
}
