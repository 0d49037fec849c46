#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/interrupts.hpp"
#include "cli/session.hpp"
#include "client/beanstalk.hpp"
#include "client/faktory.hpp"
#include "client/target.hpp"
#include "http/kit/text.hpp"
#include "server/net/bound_socket.hpp"
#include "server/options/config.hpp"
#include "tools/local/local_server.hpp"
#include "tools/local/local_verbs.hpp"

extern char** environ;

namespace millrace::tools {
namespace {

/// Clients and workers of a small shop, in both protocols: jobs arrive in waves, run, fail, are
/// retried, die, and are scheduled. Each is a thread with a connection of its own.
class Demo {
 public:
  struct Ports {
    client::Target beanstalk;
    client::Target faktory;
  };
  /// Jobs of this queue have no worker: somebody should pause it.
  static constexpr const char* kPausedQueue = "newsletter";

  explicit Demo(Ports ports);
  /// A thread that waits for jobs ends when its server does, or within two seconds.
  ~Demo();
  Demo(const Demo&) = delete;
  Demo& operator=(const Demo&) = delete;

 private:
  Ports ports_;
  std::vector<std::jthread> threads_;
};

using namespace std::chrono_literals;
using client::Beanstalk;
using client::Faktory;
using std::chrono::milliseconds;

constexpr auto kBeatInterval = 10s;
constexpr auto kReserveWait = std::chrono::seconds(1);

/// The dice of one thread. They fall alike at every start.
class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  [[nodiscard]] int between(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<unsigned>(high - low + 1));
  }
  [[nodiscard]] bool falls(int percent) { return between(1, 100) <= percent; }

 private:
  std::minstd_rand engine_;
};

/// False: it is time to end.
bool rest(const std::stop_token& stop, milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any bell;
  std::unique_lock lock(mutex);
  bell.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

// ---- what arrives -------------------------------------------------------------------------------

struct DemoJob {
  const char* type;
  const char* queue;
  const char* args;
  int retry;
};

constexpr std::array kDemoJobs = {
    DemoJob{"SendWelcome", "mail", R"(["ada@example.com","en"])", 25},
    DemoJob{"SendReceipt", "mail", R"([{"order":4711,"total":"23.50"}])", 25},
    DemoJob{"SendReceipt", "mail", R"([{"order":4712,"total":"8.90"}])", 5},
    DemoJob{"ImportCatalog", "imports", R"(["books.csv",{"rows":1200}])", 3},
    DemoJob{"ChargeCard", "billing", R"([4711,"EUR",2350])", -1},
};

class Pusher {
 public:
  Pusher(Faktory client, Dice& dice) : client_(std::move(client)), dice_(dice) {}

  /// `more`: further members, each after a comma. False: the server has gone.
  bool push(const DemoJob& job, const std::string& more = "") {
    std::string text = R"({"jid":"demo-)" + std::to_string(dice_.between(10'000, 99'999)) + "-" +
                       std::to_string(++count_) + R"(","jobtype":")" + job.type + R"(","queue":")" +
                       job.queue + R"(","args":)" + job.args + R"(,"retry":)" +
                       std::to_string(job.retry) + more + "}";
    const auto pushed = client_.push(text);
    return pushed || pushed.error().is_refusal;
  }

 private:
  Faktory client_;
  Dice& dice_;
  std::uint64_t count_ = 0;
};

std::string at(std::chrono::seconds after) {
  const auto time = std::chrono::system_clock::now() + after;
  return R"(,"at":")" + http::utc_text(std::chrono::time_point_cast<milliseconds>(time)) + "\"";
}

void push_jobs(const std::stop_token& stop, const Demo::Ports& ports) {
  Dice dice(1);
  auto client = Faktory::connect(ports.faktory, "");
  if (!client) return;
  Pusher pusher(std::move(*client), dice);
  for (int i = 0; i < 24; ++i) {
    if (!pusher.push({"SendNewsletter", Demo::kPausedQueue, R"(["november"])", 5})) return;
    if (!pusher.push(kDemoJobs[i % kDemoJobs.size()])) return;
  }
  if (!pusher.push({"NightlyReport", "reports", R"(["sales"])", 3}, at(1h))) return;
  for (int i = 0;; ++i) {
    // Every half minute a wave comes.
    const bool is_wave = i % 60 < 25;
    if (!rest(stop, milliseconds(dice.between(100, is_wave ? 250 : 900)))) return;
    const DemoJob& job = kDemoJobs[dice.between(0, kDemoJobs.size() - 1)];
    const bool is_later = dice.falls(8);
    if (!pusher.push(job, is_later ? at(std::chrono::seconds(dice.between(5, 90))) : "")) return;
  }
}

void put_jobs(const std::stop_token& stop, const Demo::Ports& ports) {
  Dice dice(2);
  auto client = Beanstalk::connect(ports.beanstalk);
  if (!client) return;
  for (int i = 0;; ++i) {
    const bool is_image = dice.falls(70);
    if (!client->use(is_image ? "thumbnails" : "geocode")) return;
    const std::string body =
        is_image ? R"({"image":"cover-)" + std::to_string(i) + R"(.jpg","width":320})"
                 : "place=" + std::to_string(dice.between(10'000, 99'999));
    const std::uint64_t delay_s = dice.falls(10) ? 10 : 0;
    const auto put = client->put({.body = body, .priority = 1024, .delay_s = delay_s, .ttr_s = 30});
    if (!put && !put.error().is_refusal) return;
    // The first ones come at once.
    if (i > 20 && !rest(stop, milliseconds(dice.between(150, 700)))) return;
    if (stop.stop_requested()) return;
  }
}

// ---- what works ---------------------------------------------------------------------------------

struct DemoWorker {
  const char* wid;
  std::vector<std::string> queues;
  unsigned seed;
};

struct DemoFailure {
  const char* type;
  const char* message;
};

constexpr std::array kDemoFailures = {
    DemoFailure{"Net::Timeout", "mail.example.com:25 gave no answer within 5 s"},
    DemoFailure{"Net::Timeout", "mail.example.com:25 gave no answer within 8 s"},
    DemoFailure{"KeyError", "key not found: :sku"},
};

/// False: the server has gone.
bool finish_run(Faktory& worker, std::string_view job, Dice& dice) {
  const auto read = nlohmann::json::parse(job, nullptr, false);
  const std::string jid = read.is_object() ? read.value("jid", "") : "";
  const bool is_charge = read.is_object() && read.value("jobtype", "") == "ChargeCard";
  if (is_charge && dice.falls(40)) {
    const auto told = worker.fail(jid, "CardDeclined", "the bank refused card 4711");
    return told || told.error().is_refusal;
  }
  if (!is_charge && dice.falls(12)) {
    const DemoFailure& failure = kDemoFailures[dice.between(0, kDemoFailures.size() - 1)];
    const auto told = worker.fail(jid, failure.type, failure.message);
    return told || told.error().is_refusal;
  }
  const auto told = worker.acknowledge(jid);
  return told || told.error().is_refusal;
}

void run_pushed_jobs(const std::stop_token& stop, const Demo::Ports& ports,
                     const DemoWorker& self) {
  Dice dice(self.seed);
  auto worker = Faktory::connect(ports.faktory, self.wid);
  if (!worker) return;
  auto next_beat = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    if (std::chrono::steady_clock::now() >= next_beat) {
      if (!worker->beat()) return;
      next_beat += kBeatInterval;
    }
    const auto job = worker->fetch(self.queues);
    if (!job) return;
    if (!*job) continue;
    if (!rest(stop, milliseconds(dice.between(80, 1200)))) return;
    if (!finish_run(*worker, **job, dice)) return;
  }
}

void run_put_jobs(const std::stop_token& stop, const Demo::Ports& ports, unsigned seed) {
  Dice dice(seed);
  auto worker = Beanstalk::connect(ports.beanstalk);
  if (!worker || !worker->watch({"thumbnails", "geocode"})) return;
  while (!stop.stop_requested()) {
    const auto job = worker->reserve({kReserveWait});
    if (!job) return;
    if (!*job) continue;
    const std::uint64_t id = (*job)->id;
    if (!rest(stop, milliseconds(dice.between(100, 900)))) return;
    const int fate = dice.between(1, 100);
    const auto told = fate <= 3    ? worker->bury(id)
                      : fate <= 12 ? worker->release(id, 8)
                                   : worker->remove(id);
    if (!told && !told.error().is_refusal) return;
  }
}

Demo::Demo(Ports ports) : ports_(std::move(ports)) {
  threads_.emplace_back([this](const std::stop_token& stop) { push_jobs(stop, ports_); });
  threads_.emplace_back([this](const std::stop_token& stop) { put_jobs(stop, ports_); });
  const std::vector<DemoWorker> workers = {{"demo-mailer-1", {"mail"}, 3},
                                           {"demo-mailer-2", {"mail", "imports"}, 4},
                                           {"demo-shop-1", {"billing", "imports", "reports"}, 5}};
  for (const DemoWorker& worker : workers) {
    threads_.emplace_back(
        [this, worker](const std::stop_token& stop) { run_pushed_jobs(stop, ports_, worker); });
  }
  for (const unsigned seed : {6u, 7u}) {
    threads_.emplace_back(
        [this, seed](const std::stop_token& stop) { run_put_jobs(stop, ports_, seed); });
  }
}

Demo::~Demo() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

using namespace std::chrono_literals;
using cli::Exit;

constexpr auto kDevLook = 200ms;
constexpr const char* kLoopback = "127.0.0.1";

/// The usual address, or one with a port that the system chooses.
std::string usual_or_free(const server::Address& usual) {
  const auto socket =
      server::BoundSocket::bind({.host = kLoopback, .port = usual.port, .path = {}}, server::Log());
  return std::string(kLoopback) + ":" + (socket ? std::to_string(usual.port) : "0");
}

std::string since_taken(const client::Target& target, const server::Address& usual) {
  const bool is_usual = target.port == usual.port;
  return is_usual ? "" : ", since " + std::to_string(usual.port) + " is taken";
}

void print_port(cli::Console& console, const LocalServer& server, const char* name,
                const server::Address& usual) {
  const client::Target target = server.port(name);
  console.print_member(name, target.text() + since_taken(target, usual));
}

/// What tells verbs where the server is, if that is not at the usual ports.
void print_variables(cli::Console& console, const LocalServer& server,
                     const server::Config& usual) {
  const client::Target web = server.port("web");
  const client::Target beanstalk = server.port("beanstalk");
  // A line each: one that is broken at the edge of the terminal cannot be pasted.
  const char* title = "verbs";
  if (web.port != usual.web->port) {
    console.print_member(std::exchange(title, ""), "export MILLRACE_URL=http://" + web.text());
  }
  if (beanstalk.port != usual.beanstalk->port) {
    console.print_member(title, "export BEANSTALKD_URL=" + beanstalk.text());
  }
}

/// Whether there is a person at a desktop.
bool has_desktop() {
  const auto is_set = [](const char* name) {
    return !server::environment_variable(name).value_or("").empty();
  };
  return isatty(STDOUT_FILENO) != 0 && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"));
}

/// Where that fails, the address was printed.
void open_pages(const std::string& url) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0);
  }
  // A browser that this starts must live on, and take signals, as if somebody else had started it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  std::string program = "xdg-open";
  std::string argument = url;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  (void)posix_spawnp(&child, program.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
}

/// As a client of that server has it.
cli::Choice choice_for(const client::Target& web) {
  cli::Choice choice;
  choice.url.host = web.host;
  choice.url.port = web.port;
  return choice;
}

/// A queue is there once it has had a job.
cli::Reply<cli::Answer> pause_queue_of_demo(const client::Target& web) {
  cli::Api api(choice_for(web));
  const std::string queue = Demo::kPausedQueue;
  auto pushed = api.post(
      "jobs", R"({"jobtype":"SendNewsletter","args":["october"],"queue":")" + queue + R"("})");
  if (!pushed) return pushed;
  return api.post("queues/" + queue + "/pause", "{}");
}

}  // namespace

cli::Exit serve_for_development(cli::Session& session) {
  cli::Console& console = session.console;
  const server::Config usual;
  // Before the first thread: all of them leave the signals to this one.
  cli::Interrupts interrupts;
  auto server = LocalServer::start({"--volatile", "--beanstalk=" + usual_or_free(*usual.beanstalk),
                                    "--faktory=" + usual_or_free(*usual.faktory),
                                    "--web=" + usual_or_free(*usual.web)});
  if (!server) return session.fail({.text = server.error().text});
  const client::Target web = server->port("web");
  const std::string url = "http://" + web.text();
  console.print_member("pages", url + "/" + since_taken(web, *usual.web));
  print_port(console, *server, "faktory", *usual.faktory);
  print_port(console, *server, "beanstalk", *usual.beanstalk);
  print_variables(console, *server, usual);
  std::optional<Demo> demo;
  if (session.choice.dev.has_demo) {
    if (const auto paused = pause_queue_of_demo(web); !paused) return session.fail(paused.error());
    demo.emplace(
        Demo::Ports{.beanstalk = server->port("beanstalk"), .faktory = server->port("faktory")});
    console.print_member(
        "demo", std::string("jobs of both protocols; queue ") + Demo::kPausedQueue + " is paused");
  }
  console.print_member("to end it", "Ctrl-C; nothing is kept");
  (void)console.finish();
  if (session.choice.dev.opens_pages && has_desktop()) open_pages(url + "/");
  while (!interrupts.wait(kDevLook)) {
    if (!server->is_running()) return session.fail({.text = "the server has ended"});
  }
  server->end();
  return Exit::kDone;
}

}  // namespace millrace::tools
