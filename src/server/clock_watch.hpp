#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "server/process/clock.hpp"
#include "server/process/logging.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// Notices within a second that somebody set the wall clock, and tells the broker and the log.
class ClockWatch final : private Deadline {
 public:
  struct Parts {
    Ticker& ticker;
    Clock& clock;
    Broker& broker;
    const Log& log;
    std::function<void()> on_step = {};  ///< called when it was set; may be empty
  };

  explicit ClockWatch(Parts parts) : parts_(std::move(parts)) {}
  ~ClockWatch() override { parts_.ticker.plan(*this, kNever); }

  /// Looks for the first time. The clock goes on from `latest`, the latest time that the log tells,
  /// if that is later than the wall clock.
  void begin(Time latest);

  /// How often the clock was set since.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  void expire(Time now) override;
  void look();

  Parts parts_;
  std::uint64_t steps_ = 0;
};

}  // namespace millrace::server
