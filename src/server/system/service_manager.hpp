#pragma once

#include <atomic>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.hpp"
#include "server/process/logging.hpp"
#include "server/system/handover.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// How often systemd wants to hear from this process: WATCHDOG_USEC, where WATCHDOG_PID means this
/// process. Zero: never.
[[nodiscard]] Outcome<std::chrono::microseconds> watchdog_time(const Handover& handover,
                                                               std::int64_t own_pid);

/// The service manager that started this process, by systemd's protocol: datagrams to the socket
/// that NOTIFY_SOCKET names, a path, or with `@` in front a name without a file. Empty: there is
/// none, and nothing happens. No call blocks.
///
/// Its watchdog kills a process that is not heard of in time. While the main loop runs
/// (`WatchdogDeadline`) only the loop feeds it, so a loop that hangs is found. Before and after,
/// while a journal is opened, replayed, synced or freed, a thread does: that work is as long as the
/// journal is, and nobody can tell it from a hang.
class ServiceManager {
 public:
  /// `log` outlives it.
  ServiceManager(const Handover& handover, std::int64_t own_pid, const Log& log);
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  /// Clients are served, or what `notify_reloading` began is over.
  void notify_ready() const;
  void notify_reloading() const;
  /// From now on nothing else is told, and the thread feeds the watchdog: the manager has a limit
  /// of its own for a stop.
  void notify_stopping();

 private:
  friend class WatchdogDeadline;

  [[nodiscard]] Outcome<Done> notify(std::string_view state) const;
  void leave_loop();
  void feed() const;
  void feed_outside_of_loop(const std::stop_token& end);

  const std::string socket_;
  const Log& log_;
  Duration pause_{};  ///< between two feeds; zero: there is no watchdog
  bool is_stopping_ = false;
  std::atomic<bool> is_loop_running_ = false;
  std::jthread thread_;  ///< none without a watchdog
};

/// Feeds the watchdog in the thread of a main loop, in turns of it, while it lives.
class WatchdogDeadline final : private Deadline {
 public:
  /// Both outlive it.
  WatchdogDeadline(ServiceManager& manager, Ticker& ticker, Time now);
  ~WatchdogDeadline() override;

 private:
  void expire(Time now) override;

  ServiceManager& manager_;
  Ticker& ticker_;
};

}  // namespace millrace::server
