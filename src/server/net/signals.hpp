#pragma once

#include <functional>
#include <vector>

#include "server/net/poller.hpp"

namespace millrace::server {

/// Keeps the process's signals of some numbers until they are taken. There is at most one of these
/// at a time: what a signal does belongs to the process.
class Signals {
 public:
  /// Throws where the system refuses.
  explicit Signals(std::vector<int> numbers);

  /// The signals do again what the system does by itself.
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Some of those that have come, in their order; none when there are none.
  [[nodiscard]] std::vector<int> take();

  /// Readable while there are some.
  [[nodiscard]] int descriptor() const { return arrived_; }

 private:
  const std::vector<int> numbers_;
  int arrived_ = -1;  ///< the end of the handler's pipe that is read
};

/// Tells the signals in the thread of a main loop, those that came before included.
class SignalWatch final : private Pollee {
 public:
  /// Both outlive it. Throws where the system refuses.
  SignalWatch(Poller& poller, Signals& signals, std::function<void(int)> on_signal);
  ~SignalWatch() override;
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  void on_events(SocketEvents events) override;

  Poller& poller_;
  Signals& signals_;
  const std::function<void(int)> on_signal_;
};

}  // namespace millrace::server
