#include "server/net/connections.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {

Connections::Connections(Parts parts)
    : parts_(std::move(parts)),
      connection_parts_{.poller = parts_.poller,
                        .ticker = parts_.ticker,
                        .clock = parts_.clock,
                        .log = parts_.log},
      client_parts_{
          .turn = parts_.turn, .ticker = parts_.ticker, .clock = parts_.clock, .log = parts_.log} {}

void Connections::add(int descriptor, std::unique_ptr<TlsStream> tls,
                      std::unique_ptr<Session> session) {
  all_.emplace_back(descriptor, std::move(tls), std::move(session), connection_parts_,
                    client_parts_);
  const auto added = std::prev(all_.end());
  // The call that closes it may still be at work with it, so it is removed later.
  added->connection.open(added->client, [this, added] {
    closed_.push_back(added);
    parts_.turn.request();
  });
}

void Connections::begin_turn() {
  client_parts_.unsent.turn_bytes = 0;
  if (client_parts_.unsent.bytes > parts_.unsent_bytes_max) drop_slow_readers();
}

/// Others are served in between, however many leave.
void Connections::remove_closed() {
  for (std::size_t count = std::min(closed_.size(), kRemovalsPerTurn); count > 0; --count) {
    const auto entry = closed_.front();
    closed_.pop_front();
    const int descriptor = entry->connection.descriptor();
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
    if (entry.connection.stalled_since() && entry.client.unsent_bytes() > share) {
      stalled.push_back(&entry);
    }
  }
  std::stable_sort(stalled.begin(), stalled.end(), [](const Entry* a, const Entry* b) {
    return *a->connection.stalled_since() < *b->connection.stalled_since();
  });
  const std::size_t before = client_parts_.unsent.bytes;
  std::size_t count = 0;
  for (Entry* entry : stalled) {
    if (client_parts_.unsent.bytes <= parts_.unsent_bytes_max) break;
    entry->connection.drop();
    ++count;
  }
  if (count == 0) return;
  parts_.log.event("slow_readers_dropped",
                   {{"connections", count}, {"bytes", before - client_parts_.unsent.bytes}});
}

void Connections::stop() {
  for (Entry& entry : all_) entry.client.stop();
}

void Connections::drop_all() {
  for (Entry& entry : all_) entry.connection.drop();
}

}  // namespace millrace::server
