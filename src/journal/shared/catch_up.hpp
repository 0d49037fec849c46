#pragma once

#include "core/model/types.hpp"
#include "journal/shared/log_pump.hpp"

namespace millrace::journal {

/// Notices when a server that follows has caught up with the log. To have what the log had at the
/// start says little after a minute of reading. So where the log ends is asked anew, until there is
/// little to read in between.
class CatchUp {
 public:
  /// Asks through a pump that outlives it.
  explicit CatchUp(LogPump& pump) : pump_(pump) {}

  /// The log ended at `end` when it was asked at `asked_at`, or after that.
  void begin(Sequence end, Time asked_at);
  /// The server has everything up to `seen`.
  void look(Sequence seen, Time now);
  /// Whether it had, once, everything that the log had `kCaughtUpWithin` before.
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  LogPump& pump_;
  Sequence end_ = 0;  ///< of the log, when it was asked last
  Time asked_at_{};   ///< that was then, or later
  bool is_asking_ = false;
  bool is_over_ = false;
};

inline constexpr Duration kCaughtUpWithin = std::chrono::seconds(1);

}  // namespace millrace::journal
