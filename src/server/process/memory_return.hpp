#pragma once

#include "server/turn/ticker.hpp"

namespace millrace::server {

/// Gives memory that was freed back to the system: a tenth of a second later while the program
/// allocates and frees, and a second later at most where it is at rest. Does nothing where the
/// program is not linked with jemalloc.
class MemoryReturn final : private Deadline {
 public:
  /// Works in the thread that runs the ticker, which outlives it.
  MemoryReturn(Ticker& ticker, Time now);
  ~MemoryReturn() override { ticker_.plan(*this, kNever); }
  MemoryReturn(const MemoryReturn&) = delete;
  MemoryReturn& operator=(const MemoryReturn&) = delete;

 private:
  void expire(Time now) override;

  Ticker& ticker_;
};

}  // namespace millrace::server
