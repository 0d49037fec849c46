#pragma once

#include <atomic>

#include "server/process/clock.hpp"

namespace millrace::server {

/// A clock that the test moves.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] Time now() override { return now_; }
  void set(Time now) { now_ = now; }

 private:
  std::atomic<Time> now_ = Time{1'700'000'000s};
};

}  // namespace millrace::server
