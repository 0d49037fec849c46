#include "server/system/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/number.hpp"
#include "server/turn/test_loop.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

/// The end of the socket where a service manager listens.
class Manager {
 public:
  explicit Manager(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    REQUIRE(bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager() { close(descriptor_); }

  /// Empty: nothing has come.
  std::string heard() const { return receive(MSG_DONTWAIT); }
  std::string next() const { return receive(0); }

 private:
  std::string receive(int flags) const {
    std::array<char, 100> bytes{};
    const ssize_t size = recv(descriptor_, bytes.data(), bytes.size(), flags);
    return size < 0 ? "" : std::string(bytes.data(), static_cast<std::size_t>(size));
  }

  int descriptor_ = socket(AF_UNIX, SOCK_DGRAM, 0);
};

constexpr std::int64_t kOwnPid = 42;

/// A process that the manager has started.
struct Started {
  explicit Started(const char* usec = "")
      : handover{.notify_socket = path, .watchdog_usec = usec} {}

  const Scratch scratch;
  const std::string path = scratch.path("notify");
  const Manager listening{path};
  Handover handover;
  std::string logged;
  const Log log{[this](std::string_view line) { logged += line; }};
};

std::chrono::microseconds time_of(const char* usec, const char* pid) {
  return watchdog_time({.notify_socket = "/s", .watchdog_usec = usec, .watchdog_pid = pid}, kOwnPid)
      .value();
}

bool is_refused(const char* usec) {
  return !watchdog_time({.notify_socket = "/s", .watchdog_usec = usec}, kOwnPid);
}

}  // namespace

TEST_CASE("service manager: it is told that the server is ready") {
  Started process;
  const ServiceManager manager(process.handover, kOwnPid, process.log);
  manager.notify_ready();
  CHECK(process.listening.heard() == "READY=1");
  CHECK(process.listening.heard().empty());
}

TEST_CASE("service manager: where none is, nothing happens") {
  Started process;
  ServiceManager manager({}, kOwnPid, process.log);
  manager.notify_ready();
  manager.notify_reloading();
  manager.notify_stopping();
  CHECK(process.logged.empty());
}

TEST_CASE("service manager: one that is gone is a problem, and so is a long path") {
  Started process;
  for (const std::string& path : {process.scratch.path("nobody"), std::string(200, 'a')}) {
    process.logged.clear();
    ServiceManager({.notify_socket = path}, kOwnPid, process.log).notify_ready();
    CHECK(process.logged.find(" ready_not_told problem=") != std::string::npos);
  }
}

TEST_CASE("service manager: a reload is told with its time, and its end") {
  Started process;
  const ServiceManager manager(process.handover, kOwnPid, process.log);
  manager.notify_reloading();
  const std::string heard = process.listening.heard();
  constexpr std::string_view kBegin = "RELOADING=1\nMONOTONIC_USEC=";
  REQUIRE(heard.starts_with(kBegin));
  CHECK(parse_number<std::int64_t>(heard.substr(kBegin.size())).value_or(0) > 0);
  manager.notify_ready();
  CHECK(process.listening.heard() == "READY=1");
}

TEST_CASE("service manager: a stop is told once, and nothing is ready after it") {
  Started process;
  ServiceManager manager(process.handover, kOwnPid, process.log);
  manager.notify_stopping();
  CHECK(process.listening.heard() == "STOPPING=1");
  manager.notify_stopping();
  manager.notify_reloading();
  manager.notify_ready();
  CHECK(process.listening.heard().empty());
}

TEST_CASE("watchdog: it is for this process, or for any") {
  using std::chrono::microseconds;
  CHECK(time_of("2000000", "") == microseconds(2'000'000));
  CHECK(time_of("2000000", "42") == microseconds(2'000'000));
  CHECK(time_of("2000000", "43") == microseconds{});
  CHECK(time_of("2000000", "x") == microseconds{});
  CHECK(time_of("", "42") == microseconds{});
  CHECK(watchdog_time({.watchdog_usec = "2000000"}, kOwnPid).value() == microseconds{});
}

TEST_CASE("watchdog: what is no time is refused, and logged") {
  CHECK(time_of("9223372036854775", "").count() == 9'223'372'036'854'775);
  CHECK(is_refused("9223372036854776"));
  CHECK(is_refused("18446744073709551615"));
  CHECK(is_refused("0"));
  CHECK(is_refused("-1"));
  CHECK(is_refused("2s"));
  Started process("2s");
  const ServiceManager manager(process.handover, kOwnPid, process.log);
  CHECK(process.logged.find(" watchdog_ignored problem=") != std::string::npos);
}

TEST_CASE(
    "watchdog: a thread feeds it, and turns of the loop at half of its time while that runs") {
  Started process("7200000000");
  TestLoop loop;
  ServiceManager manager(process.handover, kOwnPid, process.log);
  CHECK(process.listening.next() == "WATCHDOG=1");
  const Time begun = loop.clock.now();
  {
    const WatchdogDeadline deadline(manager, loop.ticker, begun);
    CHECK(process.listening.heard() == "WATCHDOG=1");
    loop.ticker.work(begun + 1h - 1ns);
    CHECK(process.listening.heard().empty());
    loop.ticker.work(begun + 1h, Ticker::Scope::kDeadlines);
    CHECK(process.listening.heard() == "WATCHDOG=1");
  }
  CHECK(process.listening.heard() == "WATCHDOG=1");
  loop.ticker.work(begun + 3h);
  CHECK(process.listening.heard().empty());
}

TEST_CASE("watchdog: without one, a loop and a stop feed nothing") {
  Started process;
  TestLoop loop;
  ServiceManager manager(process.handover, kOwnPid, process.log);
  const WatchdogDeadline deadline(manager, loop.ticker, loop.clock.now());
  manager.notify_stopping();
  CHECK(process.listening.heard() == "STOPPING=1");
  CHECK(process.listening.heard().empty());
}

}  // namespace millrace::server
