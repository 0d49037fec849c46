#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "cli/interrupts.hpp"
#include "cli/session.hpp"
#include "cli/show/table.hpp"
#include "client/beanstalk.hpp"
#include "client/faktory.hpp"
#include "http/kit/text.hpp"
#include "server/process/temporary_folder.hpp"
#include "tools/local/local_server.hpp"
#include "tools/local/local_verbs.hpp"
#include "tools/local/sync_probe.hpp"

namespace millrace::tools {
namespace {

using namespace std::chrono_literals;
using cli::Exit;

/// What one connection does again and again. False: nothing is left to do.
using BenchStep = std::function<Outcome<bool>()>;

/// A new connection, at a number from 0 on, with what it does.
using ConnectBench = std::function<Outcome<BenchStep>(std::size_t connection)>;

struct BenchLoad {
  std::size_t connections = 1;
  std::chrono::milliseconds time{2000};  ///< it ends then, or when nothing is left to do
};

struct BenchResult {
  double per_second = 0;
  std::chrono::nanoseconds median{};              ///< from the command to its reply
  std::chrono::nanoseconds slowest_of_hundred{};  ///< 99 % take no longer
};

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

/// Runs it on all connections at a time, each in a thread of its own.
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

constexpr std::size_t kSyncsOfBench = 500;
constexpr std::size_t kBenchJobBytes = 100;
constexpr const char* kBenchQueue = "bench";

Problem problem_of(const client::Failure& failure) {
  return Problem{failure.text};
}

/// The clients are shared with what calls them: a std::function is copied, and they cannot be.
template <typename Client, typename Step>
BenchStep step_of(Client client, Step step) {
  // Shared: see above.
  auto shared = std::make_shared<Client>(std::move(client));
  return [shared, step]() mutable -> Outcome<bool> {
    auto done = step(*shared);
    if (!done) return problem_of(done.error());
    return *done;
  };
}

client::Reply<bool> put_one(client::Beanstalk& client) {
  static const std::string kBody(kBenchJobBytes, 'x');
  const auto put = client.put({.body = kBody, .ttr_s = 600});
  if (!put) return put.error();
  return true;
}

client::Reply<bool> take_one(client::Beanstalk& client) {
  const auto job = client.reserve({0s});
  if (!job) return job.error();
  if (!*job) return false;
  if (const auto removed = client.remove((*job)->id); !removed) return removed.error();
  return true;
}

client::Reply<bool> push_one(client::Faktory& client, const std::string& name,
                             std::uint64_t number) {
  const std::string jid = name + "-" + std::to_string(number);
  const auto pushed =
      client.push(R"({"jid":")" + jid + R"(","jobtype":"Bench","queue":")" + kBenchQueue +
                  R"(","args":[")" + std::string(kBenchJobBytes, 'x') + R"("]})");
  if (!pushed) return pushed.error();
  return true;
}

/// The jid in a work unit of ours.
std::string jid_of(const std::string& job) {
  constexpr std::string_view kJid = R"("jid":")";
  const std::size_t at = job.find(kJid);
  if (at == job.npos) return {};
  const std::size_t begin = at + kJid.size();
  return job.substr(begin, job.find('"', begin) - begin);
}

client::Reply<bool> run_one(client::Faktory& client) {
  const auto job = client.fetch({kBenchQueue});
  if (!job) return job.error();
  if (!*job) return false;
  const auto told = client.acknowledge(jid_of(**job));
  if (!told) return told.error();
  return true;
}

ConnectBench beanstalk_load(const client::Target& port,
                            client::Reply<bool> (*step)(client::Beanstalk&)) {
  return [port, step](std::size_t) -> Outcome<BenchStep> {
    auto client = client::Beanstalk::connect(port);
    if (!client) return problem_of(client.error());
    return step_of(std::move(*client), step);
  };
}

ConnectBench push_load(const client::Target& port) {
  return [port](std::size_t connection) -> Outcome<BenchStep> {
    auto client = client::Faktory::connect(port, "");
    if (!client) return problem_of(client.error());
    const std::string name = "bench-" + std::to_string(connection);
    return step_of(std::move(*client),
                   [name, number = std::uint64_t{0}](client::Faktory& each) mutable {
                     return push_one(each, name, number++);
                   });
  };
}

ConnectBench run_load_of(const client::Target& port) {
  return [port](std::size_t connection) -> Outcome<BenchStep> {
    auto client = client::Faktory::connect(port, "bench-worker-" + std::to_string(connection));
    if (!client) return problem_of(client.error());
    return step_of(std::move(*client), run_one);
  };
}

struct BenchRow {
  const char* what;
  std::size_t connections;
  ConnectBench connect;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

/// By the numbers that Linux gives them.
std::string file_system_of(const std::string& directory) {
  struct KnownFileSystem {
    std::uint32_t number;
    const char* name;
  };
  constexpr std::array kKnown = {
      KnownFileSystem{0xEF53, "ext4"},          KnownFileSystem{0x58465342, "xfs"},
      KnownFileSystem{0x9123683E, "btrfs"},     KnownFileSystem{0x2FC12FC1, "zfs"},
      KnownFileSystem{0xF2F52010, "f2fs"},      KnownFileSystem{0x6969, "nfs"},
      KnownFileSystem{0x794C7630, "overlayfs"}, KnownFileSystem{0x01021994, "tmpfs"}};
  struct statfs facts {};
  if (statfs(directory.c_str(), &facts) != 0) return "an unknown file system";
  const auto number = static_cast<std::uint32_t>(facts.f_type);
  for (const KnownFileSystem& known : kKnown) {
    if (known.number == number) return known.name;
  }
  char text[32];
  std::snprintf(text, sizeof text, "file system 0x%x", number);
  return text;
}

std::string facts_of(const std::string& directory, const SyncTimes& syncs) {
  return "Millrace " MILLRACE_VERSION ", " + processor_name() + ", " +
         std::to_string(std::thread::hardware_concurrency()) + " cores\n" +
         file_system_of(directory) + ", a sync of 4 KiB: median " +
         milliseconds_text(syncs.median) + ", 99 % " + milliseconds_text(syncs.slowest_of_hundred) +
         ", worst " + milliseconds_text(syncs.longest) + " of " + std::to_string(syncs.count) +
         "\n";
}

cli::Json json_of(const BenchRow& row, const BenchResult& result) {
  const auto ms = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  return {{"what", row.what},
          {"connections", row.connections},
          {"per_second", std::llround(result.per_second)},
          {"median_ms", ms(result.median)},
          {"p99_ms", ms(result.slowest_of_hundred)}};
}

/// Puts come before what takes the jobs again.
std::vector<BenchRow> bench_rows(const LocalServer& server, std::size_t connections) {
  const client::Target beanstalk = server.port("beanstalk");
  const client::Target faktory = server.port("faktory");
  return {{"put", 1, beanstalk_load(beanstalk, put_one)},
          {"put", connections, beanstalk_load(beanstalk, put_one)},
          {"reserve and delete", connections, beanstalk_load(beanstalk, take_one)},
          {"PUSH", connections, push_load(faktory)},
          {"FETCH and ACK", connections, run_load_of(faktory)}};
}

}  // namespace

cli::Exit measure_machine(cli::Session& session) {
  const cli::BenchChoice& choice = session.choice.bench;
  const std::string parent = session.choice.words.empty() ? "." : session.choice.words.front();
  cli::Interrupts interrupts;
  const auto syncs = measure_syncs(parent, kSyncsOfBench);
  if (!syncs) return session.fail({.text = syncs.error().text});
  const auto folder = server::TemporaryFolder::make(parent, "millrace-bench");
  if (!folder) return session.fail({.text = "cannot make a folder in " + parent});
  auto server = LocalServer::start({"--data=" + folder->in("data"), "--web=off",
                                    "--beanstalk=127.0.0.1:0", "--faktory=127.0.0.1:0"},
                                   folder->in("log"));
  if (!server) return session.fail({.text = server.error().text});
  cli::Table table({{"what"},
                    {"connections", cli::Table::Side::kRight},
                    {"a second", cli::Table::Side::kRight},
                    {"median", cli::Table::Side::kRight},
                    {"99 %", cli::Table::Side::kRight}});
  cli::Json json = cli::Json::array();
  for (const BenchRow& row : bench_rows(*server, choice.connections)) {
    session.console.show_progress(std::string("measuring: ") + row.what);
    const auto result =
        run_load({.connections = row.connections, .time = std::chrono::seconds(choice.seconds)},
                 row.connect);
    if (!result) return session.fail({.text = std::string(row.what) + ": " + result.error().text});
    if (interrupts.wait(0ms))
      return session.fail({.exit = Exit::kInterrupted, .text = "a signal ended it"});
    json.push_back(json_of(row, *result));
    table.add({{row.what},
               {std::to_string(row.connections)},
               {http::grouped(static_cast<std::uint64_t>(std::llround(result->per_second)))},
               {milliseconds_text(result->median)},
               {milliseconds_text(result->slowest_of_hundred)}});
  }
  server->end();
  if (session.choice.is_json) {
    const auto ms = std::chrono::duration<double, std::milli>(syncs->median).count();
    session.print({{"version", MILLRACE_VERSION},
                   {"processor", processor_name()},
                   {"cores", std::thread::hardware_concurrency()},
                   {"sync_median_ms", ms},
                   {"rows", std::move(json)}});
    return Exit::kDone;
  }
  session.console.print(facts_of(parent, *syncs) + table.text(session.console.look()));
  return Exit::kDone;
}

}  // namespace millrace::tools
