#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "server/net/poller.hpp"

namespace millrace::server {

/// Keeps the process's signals of some numbers until they are taken. There is at most one of these
/// at a time: what a signal does belongs to the process.
///
/// SIGTTIN, if it is one of them, asks for a report. A thread waits for it, and lets it be taken
/// then. Where it meets the main thread, it notes what that is in the midst of.
///
/// Of those that would stop the process, SIGTSTP is kept if a program has sent it. From a terminal,
/// as by Ctrl-Z, it stops the process as ever.
class Signals {
 public:
  /// Throws where the system refuses.
  explicit Signals(std::vector<int> numbers);

  /// The signals do again what the system does by itself.
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Keeps these too from now on.
  void add(const std::vector<int>& numbers);

  /// Some of those that have come, in their order; none when there are none.
  [[nodiscard]] std::vector<int> take();

  /// Readable while there are some.
  [[nodiscard]] int descriptor() const { return arrived_; }

  /// Waits for a SIGTTIN, or several that have come by then, or for `wake_reporter`.
  void wait_for_report();
  void wake_reporter();

  /// Where the main thread was at the last SIGTTIN, innermost first; empty: it met another thread.
  [[nodiscard]] std::vector<std::uintptr_t> stack() const;

 private:
  std::vector<int> numbers_;
  int arrived_ = -1;  ///< the end of the handler's pipe that is read
  int asked_ = -1;    ///< likewise, of the pipe for reports
};

/// Signals that end or stop a process unless it says otherwise, and that nobody sends to a server
/// to that end, are ignored from now on. A write beyond the limit of a file's size, or to a client
/// that has gone, then fails with an error.
void ignore_stray_signals();

/// Tells the signals in the thread of a main loop, those that came before included.
class SignalWatch {
 public:
  /// Both outlive it. Throws where the system refuses.
  SignalWatch(Poller& poller, Signals& signals, std::function<void(int)> on_signal);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  struct Pipe;
  static void await(const std::shared_ptr<Pipe>& pipe);  // shared as the member

  const std::shared_ptr<Pipe> pipe_;  ///< shared with a handler, which may run later
};

}  // namespace millrace::server
