#include "server/net/connections.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace millrace::server {

Connections::Connections(Parts parts)
    : parts_(std::move(parts)),
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
                     .is_fetch_strict = parts_.is_fetch_strict},
      budget_(parts_.clock) {
  parts_.net.serve(*this);
}

Connections::~Connections() {
  end();
}

void Connections::add(int descriptor, std::unique_ptr<TlsStream> tls,
                      std::unique_ptr<Session> session) {
  auto socket = std::make_unique<ClientSocket>(descriptor, std::move(tls));
  IoThread& thread = parts_.net.choose();
  if (thread.has_thread()) socket->read_ahead(session->make_read_ahead());
  Client& client = all_.emplace_back(std::move(session), *socket, thread.orders(), session_parts_);
  client.place = std::prev(all_.end());
  client.descriptor = descriptor;
  socket->serve(client);
  thread.add(std::move(socket));
  client.start();
  // As one that the system has no room to wait for.
  if (!parts_.net.watch_end(descriptor, thread)) client.drop();
}

// ---- serving ------------------------------------------------------------------------------------

/// Those that are gone come first, before input of the same client too. What was sent to a client
/// is counted before that.
void Connections::serve(Batch<Arrival>& arrived) {
  bool has_ended = false;
  bool has_input = false;
  for (Arrival& arrival : arrived.values()) {
    if (!arrival.input.empty()) {
      has_input = true;
      arrival.to->take({.to = arrival.to, .sent_bytes = std::exchange(arrival.sent_bytes, 0)});
      continue;
    }
    take(arrival);
    has_ended = has_ended || arrival.is_end;
  }
  // More is there where an I/O thread has seen an end only now, or has sent the last reply to a
  // client that has ended.
  if ((has_input && parts_.net.await_ends()) || has_ended) {
    parts_.net.take_more(later_);
    for (const Arrival& arrival : later_.values()) take(arrival);
  }
  for (const Arrival& arrival : arrived.values()) {
    if (!arrival.input.empty()) take(arrival);
  }
  if (!parts_.turn.is_paused()) serve_ready();
}

void Connections::take(const Arrival& arrival) {
  Client& client = static_cast<Client&>(*arrival.to);
  if (arrival.is_end || arrival.is_over) parts_.net.forget_end(client.descriptor);
  client.take(arrival);
  if (!arrival.is_gone) return;
  closed_.push_back(&client);
  parts_.turn.request();
}

bool Connections::has_ready() const {
  return !session_parts_.ready.is_empty() && !parts_.turn.is_paused();
}

bool Connections::is_turn_full() {
  return session_parts_.unsent.turn_bytes >= kTurnOutputBytesMax || budget_.is_over() ||
         parts_.turn.is_paused();
}

/// In turn, until the turn is long enough or has brought enough output. However many have all their
/// answers, one of the others is served too.
void Connections::serve_ready() {
  auto& [answered, others] = session_parts_.ready;
  budget_.reset();
  for (int round = 0; round < kRoundsPerTurn && has_ready(); ++round) {
    std::size_t left = others.size();
    const std::size_t share =
        std::clamp(kRoundBytes / (answered.size() + left), kServedBytesMin, kInputShareBytes);
    while (!answered.empty() && !is_turn_full()) serve_first(answered, share);
    bool must_serve = round == 0 && !parts_.turn.is_paused();
    for (; left > 0 && (must_serve || !is_turn_full()); --left) {
      serve_first(others, share);
      must_serve = false;
    }
    if (has_ready() && is_turn_full()) return;
  }
}

void Connections::serve_first(std::deque<ClientSession*>& queue, std::size_t bytes_max) {
  ClientSession* const client = queue.front();
  queue.pop_front();
  if (client != nullptr) client->serve(bytes_max);
}

// ---- limits -------------------------------------------------------------------------------------

void Connections::limit_memory() {
  kept_input_.count_left_behind(parts_.left_behind_bytes());
  session_parts_.unsent.turn_bytes = 0;
  if (session_parts_.unsent.bytes > parts_.unsent_bytes_max) drop_slow_readers();
}

/// Replies that nobody reads must not take all memory. Those that are dropped hold more than an
/// even share, and have not read for the longest; their reservations are released.
void Connections::drop_slow_readers() {
  CHECK(!all_.empty());
  const std::size_t share = parts_.unsent_bytes_max / all_.size();
  std::vector<Client*> stalled;
  for (Client& client : all_) {
    if (client.stalled_since() && client.unsent_bytes() > share) stalled.push_back(&client);
  }
  std::stable_sort(stalled.begin(), stalled.end(), [](const Client* a, const Client* b) {
    return *a->stalled_since() < *b->stalled_since();
  });
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (Client* client : stalled) {
    if (session_parts_.unsent.bytes - bytes <= parts_.unsent_bytes_max) break;
    bytes += client->unsent_bytes();
    client->drop();
    ++count;
  }
  if (count == 0) return;
  parts_.log.event("slow_readers_dropped", {{"connections", count}, {"bytes", bytes}});
}

// ---- the end ------------------------------------------------------------------------------------

/// Others are served in between, however many leave.
void Connections::remove_closed() {
  for (std::size_t count = std::min(closed_.size(), kRemovalsPerTurn); count > 0; --count) {
    Client& client = *closed_.front();
    closed_.pop_front();
    const int descriptor = client.descriptor;
    client.forget_socket();
    all_.erase(client.place);
    if (parts_.on_removed) parts_.on_removed(descriptor);
  }
  if (!closed_.empty()) parts_.turn.request();
}

void Connections::stop() {
  for (Client& client : all_) client.stop();
}

void Connections::drop_all() {
  for (Client& client : all_) client.drop();
}

void Connections::end() {
  drop_all();
  parts_.net.end();
  while (!all_.empty()) {
    parts_.net.exchange();
    remove_closed();
  }
  parts_.net.exchange();
}

}  // namespace millrace::server
