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

/// Another thread rings it so that a call returns that waits on sockets.
class Bell {
 public:
  Bell();
  /// False when the process had no descriptor left: then it cannot ring.
  [[nodiscard]] bool is_open() const { return event_.is_open(); }

  void ring() noexcept;
  /// Whether it rang since it was last taken.
  [[nodiscard]] bool has_rung();
  bool take();

  /// Returns when one of the sockets is ready, the bell rings, or it is that late. A negative
  /// socket is none. A bell that was seen to have rung is not waited for.
  /// False when nothing came.
  bool wait(std::initializer_list<pollfd> sockets, Time until) const;

 private:
  journal::Descriptor event_;
  bool has_rung_ = false;
};

}  // namespace millrace::engines::postgres
