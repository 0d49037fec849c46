#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/process/logging.hpp"
#include "server/system/signals.hpp"
#include "server/turn/loop_step.hpp"

namespace millrace::server {

/// For each SIGTTIN, logs the threads of the process, what the main loop does and whether it goes
/// on. A thread of its own does that: when the main loop hangs is when somebody wants to know.
class StateReport {
 public:
  /// All outlive it.
  StateReport(Signals& signals, const LoopStep& step, const Log& log);
  ~StateReport();
  StateReport(const StateReport&) = delete;
  StateReport& operator=(const StateReport&) = delete;

 private:
  void run();
  void report(std::unique_lock<std::mutex>& lock);
  void log_threads() const;

  Signals& signals_;
  const LoopStep& step_;
  const Log& log_;
  std::mutex mutex_;
  std::condition_variable is_over_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace millrace::server
