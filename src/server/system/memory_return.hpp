#pragma once

#include "server/turn/ticker.hpp"

namespace millrace::server {

/// Returns freed memory to the system: within a tenth of a second while the program allocates and
/// frees, and within a second, by a timer, while it is idle. Does nothing unless the program is
/// linked with jemalloc.
class MemoryReturn final : private Deadline {
 public:
  /// Works in the thread that runs the ticker, which outlives it.
  MemoryReturn(Ticker& ticker, Time now);
  ~MemoryReturn() override { ticker_.plan(*this, kNever); }

 private:
  void expire(Time now) override;

  Ticker& ticker_;
};

}  // namespace millrace::server
