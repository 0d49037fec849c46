#pragma once

#include "core/ports/journal.hpp"
#include "server/process/logging.hpp"
#include "server/turn/commit_queue.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// Notices that what was appended to the journal does not become durable, since the disk has no
/// room at all or does not answer: then no client hears anything, and somebody must be told.
class StallWatch final : private Deadline {
 public:
  struct Parts {
    Ticker& ticker;
    const CommitQueue& commits;
    const Journal& journal;
    const Log& log;
  };

  explicit StallWatch(Parts parts) : parts_(parts) {}
  ~StallWatch() override { parts_.ticker.plan(*this, kNever); }

  /// To be called once a turn in which something may be appended.
  void work(Time now);

  /// Something has waited for the disk for `kStallMin`, and did so a second ago.
  [[nodiscard]] bool is_stalled() const { return is_stalled_; }

 private:
  void expire(Time now) override;
  void plan(Time at);

  Parts parts_;
  bool is_planned_ = false;
  bool is_stalled_ = false;
};

/// No disk that works takes so long, and nobody waits for much longer.
inline constexpr Duration kStallMin = std::chrono::seconds(5);

}  // namespace millrace::server
