#include "server/net/connections.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {

Connections::Connections(Parts parts)
    : parts_(std::move(parts)),
      socket_parts_{.poller = parts_.poller,
                    .ticker = parts_.ticker,
                    .clock = parts_.clock,
                    .log = parts_.log},
      kept_input_({.turn = parts_.turn,
                   .ticker = parts_.ticker,
                   .clock = parts_.clock,
                   .log = parts_.log,
                   .bytes_max = parts_.kept_input_bytes_max}),
      session_parts_{.turn = parts_.turn,
                     .ticker = parts_.ticker,
                     .clock = parts_.clock,
                     .log = parts_.log,
                     .kept = kept_input_,
                     .input_share = TurnBudget(parts_.clock),
                     .resume_share = TurnBudget(parts_.clock),
                     .is_fetch_strict = parts_.is_fetch_strict} {}

void Connections::add(int descriptor, std::unique_ptr<TlsStream> tls,
                      std::unique_ptr<Session> session) {
  all_.emplace_back(descriptor, std::move(tls), std::move(session), socket_parts_, session_parts_);
  const auto added = std::prev(all_.end());
  // The call that closes it may still be at work with it, so it is removed later.
  added->socket_half.open(added->session_half, [this, added] {
    closed_.push_back(added);
    parts_.turn.request();
  });
}

void Connections::limit_unsent() {
  session_parts_.input_share.reset();
  session_parts_.resume_share.reset();
  session_parts_.unsent.turn_bytes = 0;
  session_parts_.unsent.turn_sent_bytes = 0;
  if (session_parts_.unsent.bytes > parts_.unsent_bytes_max) drop_slow_readers();
}

/// Others are served in between, however many leave.
void Connections::remove_closed() {
  for (std::size_t count = std::min(closed_.size(), kRemovalsPerTurn); count > 0; --count) {
    const auto entry = closed_.front();
    closed_.pop_front();
    const int descriptor = entry->socket_half.descriptor();
    all_.erase(entry);
    if (parts_.on_removed) parts_.on_removed(descriptor);
  }
  if (!closed_.empty()) parts_.turn.request();
}

/// Replies that nobody reads must not take all memory. Those that are dropped hold more than an
/// even share, and have not read for the longest; their reservations are released.
void Connections::drop_slow_readers() {
  CHECK(!all_.empty());
  const std::size_t share = parts_.unsent_bytes_max / all_.size();
  std::vector<Entry*> stalled;
  for (Entry& entry : all_) {
    if (entry.socket_half.stalled_since() && entry.session_half.unsent_bytes() > share) {
      stalled.push_back(&entry);
    }
  }
  std::stable_sort(stalled.begin(), stalled.end(), [](const Entry* a, const Entry* b) {
    return *a->socket_half.stalled_since() < *b->socket_half.stalled_since();
  });
  const std::size_t before = session_parts_.unsent.bytes;
  std::size_t count = 0;
  for (Entry* entry : stalled) {
    if (session_parts_.unsent.bytes <= parts_.unsent_bytes_max) break;
    entry->socket_half.drop();
    ++count;
  }
  if (count == 0) return;
  parts_.log.event("slow_readers_dropped",
                   {{"connections", count}, {"bytes", before - session_parts_.unsent.bytes}});
}

void Connections::stop() {
  for (Entry& entry : all_) entry.session_half.stop();
}

void Connections::drop_all() {
  for (Entry& entry : all_) entry.socket_half.drop();
}

}  // namespace millrace::server
