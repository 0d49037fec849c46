#include "server/relay/relay_port.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <iterator>
#include <utility>

#include "server/relay/relayed_connection.hpp"

namespace millrace::server {
namespace {

constexpr Duration kRelayEndLook = std::chrono::seconds(1);

}  // namespace

RelayPort::Entry::~Entry() {
  connection->close();
}

void RelayPort::add(Listener::Accepted accepted, Time now) {
  waiting_.emplace_back(std::move(accepted), now + kRelayWaitMax);
  Entry& entry = waiting_.back();
  entry.place = std::prev(waiting_.end());
  if (!begin(entry)) return void(waiting_.pop_back());
  if (count() > clients_max_) return refuse(entry);
  if (leader_ && is_reachable_) entry.connection->connect(*leader_);
}

bool RelayPort::begin(Entry& entry) {
  using Event = RelayedConnection::Event;
  const auto note = [this, &entry](Event event) {
    switch (event) {
      case Event::kReached:
        return note_reached(entry);
      case Event::kNotReached:
        is_reachable_ = false;
        return;
      case Event::kOver:
        (entry.is_relayed ? relayed_ : waiting_).erase(entry.place);
    }
  };
  // Shared with its handlers, which may run after its end.
  entry.connection = std::make_shared<RelayedConnection>(RelayedConnection::Parts{
      .poller = poller_, .room = room_, .to_leader = to_leader_, .tell = note});
  return entry.connection->begin(entry.client.descriptor);
}

void RelayPort::note_reached(Entry& entry) {
  relayed_.splice(relayed_.end(), waiting_, entry.place);
  entry.is_relayed = true;
  if (!std::exchange(is_reachable_, true)) must_try_all_ = true;
}

void RelayPort::set_leader(std::optional<SocketName> leader) {
  leader_ = std::move(leader);
  for (Entry& entry : waiting_) entry.connection->wait();
  is_reachable_ = true;
  must_try_all_ = true;
}

void RelayPort::work(Time now, bool is_hopeless) {
  if (leader_ && std::exchange(must_try_all_, false)) try_all();
  if (leader_ && !is_reachable_ && now >= next_try_ && try_first()) next_try_ = now + kRelayRetry;
  while (!waiting_.empty() && waiting_.front().waits_until <= now) refuse(waiting_.front());
  if (is_hopeless) refuse_all();
  if (now < next_look_) return;
  next_look_ = now + kRelayEndLook;
  end_silent(now);
}

void RelayPort::end_silent(Time now) {
  for (auto at = relayed_.begin(); at != relayed_.end();) {
    Entry& entry = *at++;
    if (!entry.connection->is_client_over()) continue;
    const std::uint64_t moved = entry.connection->moved_bytes();
    if (!entry.ends_at || std::exchange(entry.moved_bytes, moved) != moved) {
      entry.ends_at = now + kRelayEndMax;
    } else if (*entry.ends_at <= now) {
      relayed_.erase(entry.place);
    }
  }
}

void RelayPort::refuse_all() {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    Entry& entry = *at++;
    if (can_be_refused(entry)) refuse(entry);
  }
}

bool RelayPort::can_be_refused(const Entry& entry) const {
  if (entry.client.is_encrypted || refusal_.is_greeting) return true;
  char any = 0;
  return ::recv(entry.client.descriptor, &any, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/// A client that is closed with input unread would lose the answer, so what has come is taken. It
/// was not executed.
void RelayPort::refuse(Entry& entry) {
  const int client = entry.connection->release();
  const bool can_be_told = !entry.client.is_encrypted;
  bool has_asked = refusal_.is_greeting;
  for (int i = 0; can_be_told && i < kRelayRoundsPerTurn; ++i) {
    if (::recv(client, room_.data(), room_.size(), MSG_DONTWAIT) <= 0) break;
    has_asked = true;
  }
  if (can_be_told && has_asked) {
    (void)::send(client, refusal_.text.data(), refusal_.text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  ::close(client);
  waiting_.erase(entry.place);
}

void RelayPort::try_all() {
  for (Entry& entry : waiting_) {
    if (!is_reachable_) return;
    const bool waits = entry.connection->phase() == RelayedConnection::Phase::kWaiting;
    if (waits) entry.connection->connect(*leader_);
  }
}

/// The others follow when this one has reached the leader. False: there is nobody to try it for.
bool RelayPort::try_first() {
  if (waiting_.empty()) return false;
  RelayedConnection& first = *waiting_.front().connection;
  if (first.phase() != RelayedConnection::Phase::kWaiting) return false;
  first.connect(*leader_);
  return true;
}

std::vector<Listener::Accepted> RelayPort::give_back() {
  std::vector<Listener::Accepted> clients;
  for (Entry& entry : waiting_) {
    clients.push_back(std::move(entry.client));
    clients.back().descriptor = entry.connection->release();
  }
  waiting_.clear();
  return clients;
}

}  // namespace millrace::server
