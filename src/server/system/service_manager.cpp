#include "server/system/service_manager.hpp"

#include <pthread.h>

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/local/datagram_protocol.hpp>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/number.hpp"

namespace millrace::server {
namespace {

/// The main loop does not wait for less.
constexpr Duration kPauseMin = std::chrono::milliseconds(1);

/// What systemd compares with the time at which it asked for the reload.
std::string monotonic_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::to_string(std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000);
}

}  // namespace

Outcome<std::chrono::microseconds> watchdog_time(const Handover& handover, std::int64_t own_pid) {
  using std::chrono::microseconds;
  const std::string& text = handover.watchdog_usec;
  const std::string& pid = handover.watchdog_pid;
  if (text.empty() || handover.notify_socket.empty()) return microseconds{};
  if (!pid.empty() && parse_number<std::int64_t>(pid) != own_pid) return microseconds{};
  const auto number = parse_number<std::int64_t>(text);
  const auto max = std::chrono::duration_cast<microseconds>(Duration::max()).count();
  if (!number || *number <= 0 || *number > max) {
    return Problem{"WATCHDOG_USEC is not a time in microseconds: '" + text + "'"};
  }
  return microseconds(*number);
}

ServiceManager::ServiceManager(const Handover& handover, std::int64_t own_pid, const Log& log)
    : socket_(handover.notify_socket), log_(log) {
  const auto time = watchdog_time(handover, own_pid);
  if (!time) log_.event("watchdog_ignored", {{"problem", time.error().text}});
  if (!time || *time == std::chrono::microseconds{}) return;
  pause_ = std::max(Duration(*time) / 2, kPauseMin);
  thread_ = std::jthread([this](const std::stop_token& end) { feed_outside_of_loop(end); });
  pthread_setname_np(thread_.native_handle(), "watchdog");
}

void ServiceManager::feed_outside_of_loop(const std::stop_token& end) {
  std::mutex mutex;
  std::condition_variable_any is_over;
  for (std::unique_lock lock(mutex); !end.stop_requested();) {
    if (!is_loop_running_) feed();
    is_over.wait_for(lock, end, pause_, [] { return false; });
  }
}

void ServiceManager::notify_ready() const {
  if (is_stopping_) return;
  if (const auto told = notify("READY=1"); !told) {
    log_.event("ready_not_told", {{"problem", told.error().text}});
  }
}

void ServiceManager::notify_reloading() const {
  if (is_stopping_) return;
  (void)notify("RELOADING=1\nMONOTONIC_USEC=" + monotonic_microseconds());
}

void ServiceManager::notify_stopping() {
  if (std::exchange(is_stopping_, true)) return;
  (void)notify("STOPPING=1");
  leave_loop();
}

/// The thread may have to wait for its next look.
void ServiceManager::leave_loop() {
  is_loop_running_ = false;
  feed();
}

void ServiceManager::feed() const {
  if (pause_ > Duration{}) (void)notify("WATCHDOG=1");
}

Outcome<Done> ServiceManager::notify(std::string_view state) const {
  if (socket_.empty()) return Done{};
  using asio::local::datagram_protocol;
  std::string name = socket_;
  if (name.front() == '@') name.front() = '\0';
  try {
    // Of its own for each datagram: two threads send.
    asio::io_context context;
    datagram_protocol::socket socket(context, datagram_protocol());
    socket.non_blocking(true);
    socket.send_to(asio::buffer(state), datagram_protocol::endpoint(name));
    return Done{};
  } catch (const std::system_error& error) {
    return Problem{"cannot tell " + socket_ +
                   " the state of the server: " + error.code().message()};
  }
}

WatchdogDeadline::WatchdogDeadline(ServiceManager& manager, Ticker& ticker, Time now)
    : manager_(manager), ticker_(ticker) {
  if (manager_.pause_ == Duration{}) return;
  manager_.is_loop_running_ = true;
  expire(now);
}

WatchdogDeadline::~WatchdogDeadline() {
  manager_.leave_loop();
  ticker_.plan(*this, kNever);
}

void WatchdogDeadline::expire(Time now) {
  manager_.feed();
  ticker_.plan(*this, now + manager_.pause_);
}

}  // namespace millrace::server
