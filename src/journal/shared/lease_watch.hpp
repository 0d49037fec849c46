#pragma once

#include <algorithm>
#include <optional>

#include "core/model/entry_head.hpp"
#include "journal/shared/replicated_journal_options.hpp"

namespace millrace::journal {

/// Tells a server that follows when the leader's lease is over for certain.
class LeaseWatch {
 public:
  void begin(Time now) { quiet_since_ = sent_until_ = now; }

  /// An entry has arrived.
  void note(const EntryHead& head, Time now) {
    quiet_since_ = now;
    // After an outage of the service, the last entries of a leader may arrive long after they were
    // sent. Its clock tells how long after the entry before, and the margin of a lease allows for a
    // clock that does not run like ours.
    Time until = now;
    if (!head.is_claim() && sent_at_) {
      const Duration since = std::max(Duration{}, head.at - *sent_at_);
      until = std::min(until, sent_until_ + since + lease_margin(since));
    }
    sent_until_ = until;
    sent_at_ = head.at;
  }

  [[nodiscard]] bool is_over(Duration lease, Time now) const {
    const Time lease_end = sent_until_ + lease + lease_margin(lease);
    // After an outage of the service a leader that is well can append again first.
    return now >= std::max(lease_end, quiet_since_ + beat_interval(lease));
  }

  /// When something new arrived last.
  [[nodiscard]] Time quiet_since() const { return quiet_since_; }

 private:
  Time quiet_since_{};
  std::optional<Time> sent_at_;  ///< the last entry, by the clock of its writer
  Time sent_until_{};            ///< by ours it was sent until then
};

}  // namespace millrace::journal
