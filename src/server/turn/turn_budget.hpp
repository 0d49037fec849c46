#pragma once

#include <optional>

#include "server/process/clock.hpp"

namespace millrace::server {

/// How long a turn serves clients that send much. Then they wait for the next turn, in their order.
/// Clients that send little are served in every turn. So these wait for a bounded time, however
/// many others send as much as they can.
class TurnBudget {
 public:
  /// `clock` must outlive it.
  explicit TurnBudget(Clock& clock) : clock_(clock) {}

  /// The next turn begins.
  void reset() { began_.reset(); }

  [[nodiscard]] bool is_over();

 private:
  Clock& clock_;
  std::optional<Time> began_;  ///< when it was asked first
};

/// What follows in a turn takes as long again: one client's share, the sends, the journal.
inline constexpr Duration kTurnBudget = std::chrono::milliseconds(3);

inline bool TurnBudget::is_over() {
  const Time now = clock_.now();
  if (!began_) began_ = now;
  return now - *began_ >= kTurnBudget;
}

}  // namespace millrace::server
