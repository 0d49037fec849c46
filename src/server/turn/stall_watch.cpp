#include "server/turn/stall_watch.hpp"

namespace millrace::server {
namespace {

/// How often one that has stalled is looked at.
constexpr Duration kLookAgain = 1s;

}  // namespace

void StallWatch::plan(Time at) {
  parts_.ticker.plan(*this, at);
  is_planned_ = true;
}

void StallWatch::work(Time now) {
  if (!is_planned_ && parts_.commits.has_undurable()) plan(now + kStallMin);
}

void StallWatch::expire(Time now) {
  is_planned_ = false;
  const Duration waited = parts_.commits.longest_wait(now);
  const bool is_stalled = waited >= kStallMin;
  if (is_stalled && !is_stalled_) {
    parts_.log.event("journal_stalled", {{"seconds", waited / 1s},
                                         {"waiting_bytes", parts_.commits.undurable_bytes()},
                                         {"disk", is_full(parts_.journal) ? "full" : "slow"}});
  }
  if (!is_stalled && is_stalled_) parts_.log.event("journal_resumed");
  is_stalled_ = is_stalled;
  if (is_stalled) {
    plan(now + kLookAgain);
  } else if (waited > Duration{}) {
    plan(now + kStallMin - waited);
  }
}

}  // namespace millrace::server
