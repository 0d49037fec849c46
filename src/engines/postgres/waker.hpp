#pragma once

#include <poll.h>

#include <chrono>
#include <initializer_list>

#include "journal/posix/descriptor.hpp"

namespace millrace::engines::postgres {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

/// `now` plus a duration, however long that is.
[[nodiscard]] Time later(Time now, std::chrono::nanoseconds duration);

/// Wakes a thread that waits on sockets, from another one.
class Waker {
 public:
  Waker();
  /// False when the process had no descriptor left: then it cannot wake.
  [[nodiscard]] bool is_open() const { return event_.is_open(); }

  void wake() noexcept;
  /// Whether `wake` was called since the last `take`.
  [[nodiscard]] bool is_woken();
  bool take();

  /// Returns when one of the sockets is ready, at `wake`, or when it is that late; at once where
  /// `is_woken` was true. A negative socket is none. False when nothing came.
  bool wait(std::initializer_list<pollfd> sockets, Time until) const;

 private:
  journal::Descriptor event_;
  bool is_woken_ = false;
};

}  // namespace millrace::engines::postgres
