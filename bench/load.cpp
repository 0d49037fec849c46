// A load generator for both doors of a running server. Prints one line of JSON: operations,
// seconds, latencies in microseconds (from send to reply; in the open loop from when the operation
// was due; of a bundle when --depth is more than 1), and the server's processor time for each
// operation. SIGTERM ends it early; after SIGUSR1 latencies are counted anew.

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "generator.hpp"
#include "processor_time.hpp"
#include "shares.hpp"

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

void work(const bench::Plan& plan, const std::string& works) {
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
      {"work", works},
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

void add_options(CLI::App& app, bench::Plan& plan, std::string& works, std::string& sizes) {
  app.add_option("--work", works,
                 "put and put-cycle (put, reserve, delete), or push and push-cycle (PUSH, FETCH, "
                 "ACK); a mix is WORK:SHARE,..., and the shares are of the connections");
  app.add_option("--port", plan.port, "of the door, on 127.0.0.1");
  app.add_option("--connections", plan.connections, "how many clients there are")
      ->check(CLI::PositiveNumber);
  app.add_option("--operations", plan.operations,
                 "of all connections together, unless SIGTERM comes")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", plan.seconds, "if not 0: work for so long instead, or until SIGTERM")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--depth", plan.depth,
                 "commands in flight on a connection; cycles go step by step")
      ->check(CLI::PositiveNumber);
  app.add_option("--queues", plan.queues, "how many the connections are spread over")
      ->check(CLI::PositiveNumber);
  app.add_option("--prefix", plan.prefix, "of the queues' names, which end in their numbers");
  app.add_option("--delay", plan.delay_seconds, "of a put, in seconds")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--at", plan.at, "of a PUSH, when it is due (RFC 3339); else at once");
  app.add_option("--body-bytes", sizes,
                 "of a job's body or argument; a mix is BYTES:SHARE,..., and the shares are of "
                 "the jobs");
  app.add_option("--rate", plan.rate, "if not 0: operations a second, as an open loop")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--drain", plan.is_draining,
               "at the end take all jobs that are left; each that was put must have come once");
  app.add_option("--server-pid", plan.server_pid, "if not 0: tell the processor time of this one");
}

}  // namespace

int main(int argc, char** argv) {
  bench::Plan plan;
  std::string works = "put";
  std::string sizes = "128";
  CLI::App app("Load for one door of a running server, which must have none of the queues' jobs");
  app.option_defaults()->always_capture_default();
  add_options(app, plan, works, sizes);
  CLI11_PARSE(app, argc, argv);
  try {
    plan.works = bench::expand_shares(works);
    plan.body_bytes = bench::expand_sizes(sizes);
    bench::check(plan);
    work(plan, works);
  } catch (const std::invalid_argument& refusal) {
    std::fprintf(stderr, "load: %s\n", refusal.what());
    return 2;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "load: %s\n", failure.what());
    return 1;
  }
  return 0;
}
