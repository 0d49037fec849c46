#pragma once

#include <functional>
#include <vector>

#include "server/net/poller.hpp"

namespace millrace::server {

/// Tells the process's signals in the main loop's thread, in the order in which they came. There is
/// at most one of these at a time: what a signal does belongs to the process.
class Signals final : private Pollee {
 public:
  /// `on_signal` is given the signal's number, from `numbers`. Throws where the system refuses.
  Signals(Poller& poller, std::vector<int> numbers, std::function<void(int)> on_signal);

  /// The signals do again what the system does by itself.
  ~Signals() override;
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  void on_events(SocketEvents events) override;

  Poller& poller_;
  const std::vector<int> numbers_;
  const std::function<void(int)> on_signal_;
  int arrived_ = -1;  ///< the end of the handler's pipe that is read
};

}  // namespace millrace::server
