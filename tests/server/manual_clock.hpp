#pragma once

#include <atomic>

#include "server/process/clock.hpp"

namespace millrace::server {

/// A clock that the test moves.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] Time now() override { return now_; }
  void set(Time now) { now_ = now; }

  /// A server that begins from now on looks for steps each second.
  void let_step() { can_step_ = true; }
  /// Somebody sets the wall clock.
  void step(Duration by) { ahead_ = ahead_.load() + by; }
  [[nodiscard]] WallClock look() override { return {.ahead = ahead_}; }
  [[nodiscard]] Time next_look() override { return can_step_ ? now() + 1s : kNever; }

 private:
  std::atomic<Time> now_ = Time{1'700'000'000s};
  std::atomic<bool> can_step_ = false;
  std::atomic<Duration> ahead_ = Duration{};
};

}  // namespace millrace::server
