#pragma once

#include <stop_token>
#include <thread>

#include "server/process/logging.hpp"
#include "server/system/signals.hpp"
#include "server/turn/turn.hpp"

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
  void run(const std::stop_token& end);
  void report(const std::stop_token& end);
  void log_threads() const;

  Signals& signals_;
  const LoopStep& step_;
  const Log& log_;
  std::jthread thread_;
};

}  // namespace millrace::server
