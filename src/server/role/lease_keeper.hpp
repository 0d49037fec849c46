#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "core/ports/shared_journal.hpp"
#include "server/process/clock.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// A server that follows, or that has lost touch with its log, looks at the log at least so often.
inline constexpr Duration kStandbyLook = std::chrono::milliseconds(20);

/// Beats while a server leads a shared log, so that the others hear of it. Notices when the server
/// has lost touch with the log, so that another one leads by now, and when it has found it again.
class LeaseKeeper final : private Deadline {
 public:
  /// Called at each beat, and more often while touch is lost.
  using OnLook = std::function<void(bool is_lost, Time now)>;

  /// Both must outlive it.
  LeaseKeeper(Ticker& ticker, SharedJournal& journal, OnLook on_look)
      : ticker_(ticker), journal_(journal), on_look_(std::move(on_look)) {}
  ~LeaseKeeper() override { ticker_.plan(*this, kNever); }

  /// This server leads from now on.
  void begin() { ticker_.plan(*this, journal_.next_beat()); }

 private:
  void expire(Time now) override {
    journal_.beat();
    if (!begun_at_) begun_at_ = now;
    has_answered_ = has_answered_ || journal_.may_answer();
    // The clock may have jumped since the claim, to go on from that of another server. Then only
    // what is stored after that tells anything.
    const bool is_conclusive = has_answered_ || now >= *begun_at_ + 3 * journal_.figures().lease;
    is_lost_ = is_lost_ ? !journal_.may_answer() : is_conclusive && now >= journal_.lost_at();
    on_look_(is_lost_, now);
    const Time next = journal_.next_beat();
    ticker_.plan(*this, is_lost_ ? std::min(next, now + kStandbyLook) : next);
  }

  Ticker& ticker_;
  SharedJournal& journal_;
  const OnLook on_look_;
  std::optional<Time> begun_at_;  ///< the first look
  bool has_answered_ = false;
  bool is_lost_ = false;
};

}  // namespace millrace::server
