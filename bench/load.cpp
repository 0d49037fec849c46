// A load generator for both doors of a running server. Prints one line of JSON: operations,
// seconds, latencies in microseconds (from send to reply; in the open loop from when the operation
// was due; of a bundle when --depth is more than 1), and the server's processor time for each
// operation.

#include <dirent.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "generator.hpp"

namespace {

/// The time that all threads of a process have run, in seconds (proc(5), schedstat).
double cpu_seconds(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/task/";
  DIR* const tasks = ::opendir(folder.c_str());
  if (tasks == nullptr) return 0;
  double total = 0;
  while (const dirent* task = ::readdir(tasks)) {
    std::ifstream file(folder + task->d_name + "/schedstat");
    double nanoseconds = 0;
    if (file >> nanoseconds) total += nanoseconds / 1e9;
  }
  ::closedir(tasks);
  return total;
}

double microseconds(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

void work(const bench::Plan& plan) {
  bench::Generator generator(plan);
  generator.connect();
  std::signal(SIGTERM, [](int) { bench::Generator::finish(); });
  const double cpu_before = plan.server_pid != 0 ? cpu_seconds(plan.server_pid) : 0;
  generator.run();
  const double cpu = plan.server_pid != 0 ? cpu_seconds(plan.server_pid) - cpu_before : 0;
  const bool is_cycle = plan.work.ends_with("cycle");
  const std::size_t lost = generator.deliveries().begun() - generator.deliveries().came();
  if (is_cycle && lost > 0) throw std::runtime_error(std::to_string(lost) + " jobs never came");
  const auto done = static_cast<double>(generator.done());
  const bench::Histogram& latencies = generator.latencies();
  const bench::Histogram& replies = generator.replies();
  const nlohmann::ordered_json report = {
      {"work", plan.work},
      {"connections", plan.connections},
      {"depth", plan.depth},
      {"queues", plan.queues},
      {"operations", generator.done()},
      {"seconds", generator.seconds()},
      {"per_second", done / generator.seconds()},
      {"server_cpu_us", plan.server_pid != 0 ? nlohmann::ordered_json(1e6 * cpu / done) : nullptr},
      {"p50_us", microseconds(latencies.percentile(0.5))},
      {"p99_us", microseconds(latencies.percentile(0.99))},
      {"p999_us", microseconds(latencies.percentile(0.999))},
      {"max_us", microseconds(latencies.max())},
      {"reply_p99_us", microseconds(replies.percentile(0.99))},
      {"reply_max_us", microseconds(replies.max())}};
  std::printf("%s\n", report.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  bench::Plan plan;
  CLI::App app("Load for one door of a running server");
  app.add_option("--work", plan.work, "put, put-cycle, push or push-cycle")
      ->check(CLI::IsMember({"put", "put-cycle", "push", "push-cycle"}));
  app.add_option("--port", plan.port, "of the door, on 127.0.0.1");
  app.add_option("--connections", plan.connections)->check(CLI::PositiveNumber);
  app.add_option("--operations", plan.operations, "of all connections together");
  app.add_option("--seconds", plan.seconds, "work for so long instead, or until SIGTERM");
  app.add_option("--depth", plan.depth, "commands in flight on a connection (put and push)")
      ->check(CLI::PositiveNumber);
  app.add_option("--queues", plan.queues)->check(CLI::PositiveNumber);
  app.add_option("--prefix", plan.prefix, "of the queues' names");
  app.add_option("--delay", plan.delay_seconds, "of a put, in seconds");
  app.add_option("--at", plan.at, "of a PUSH, when it is due (RFC 3339)");
  app.add_option("--body-bytes", plan.body_bytes);
  app.add_option("--rate", plan.rate, "operations a second, as an open loop");
  app.add_option("--server-pid", plan.server_pid, "to tell its processor time");
  CLI11_PARSE(app, argc, argv);
  if (plan.work.ends_with("cycle")) plan.depth = 1;
  try {
    work(plan);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "load: %s\n", failure.what());
    return 1;
  }
  return 0;
}
