#include "server/relay/relayed_connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {
namespace {

/// A leader whose machine is gone does not even say that the connection is over. A client that
/// only waits would learn it after two hours, which is the system's limit. 25 s here. No limit for
/// bytes that the leader does not take: it may be holding its clients up.
void limit_silence(int descriptor) {
  constexpr int kOn = 1;
  constexpr int kIdleSeconds = 10;
  constexpr int kProbeSeconds = 5;
  constexpr int kProbes = 3;
  (void)::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  (void)::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleSeconds, sizeof kIdleSeconds);
  (void)::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &kProbeSeconds, sizeof kProbeSeconds);
  (void)::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
}

}  // namespace

void RelayedConnection::Side::close(Poller& poller) {
  if (descriptor < 0) return;
  poller.forget(descriptor, *this);
  ::close(std::exchange(descriptor, -1));
}

RelayedConnection::RelayedConnection(int client, Parts parts)
    : parts_(parts), client_(*this, client), leader_(*this, -1) {}

bool RelayedConnection::begin() {
  return parts_.poller.watch(client_.descriptor, client_);
}

// ---- before the leader is reached ---------------------------------------------------------------

bool RelayedConnection::connect(const SocketName& leader) {
  CHECK(phase_ == Phase::kWaiting);
  const auto* const name = reinterpret_cast<const sockaddr*>(&leader.storage);
  leader_.descriptor = ::socket(name->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (leader_.descriptor < 0) return false;
  const int on = 1;
  limit_silence(leader_.descriptor);
  (void)::setsockopt(leader_.descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const bool has_begun =
      (::connect(leader_.descriptor, name, leader.size) == 0 || errno == EINPROGRESS) &&
      parts_.poller.watch(leader_.descriptor, leader_);
  if (!has_begun) {
    close_leader();
    return false;
  }
  const auto from = near_end(leader_.descriptor);
  const auto to = place_of(name);
  if (from && to) parts_.to_leader.insert(*(route_ = Route{.near = *from, .far = *to}));
  phase_ = Phase::kConnecting;
  return true;
}

void RelayedConnection::wait() {
  CHECK(phase_ == Phase::kWaiting || phase_ == Phase::kConnecting);
  close_leader();
  phase_ = Phase::kWaiting;
}

int RelayedConnection::release() {
  wait();
  parts_.poller.forget(client_.descriptor, client_);
  phase_ = Phase::kOver;
  return std::exchange(client_.descriptor, -1);
}

void RelayedConnection::finish_connecting() {
  int problem = 0;
  socklen_t size = sizeof problem;
  if (::getsockopt(leader_.descriptor, SOL_SOCKET, SO_ERROR, &problem, &size) != 0 ||
      problem != 0) {
    wait();
    return parts_.owner.on_not_reached();
  }
  phase_ = Phase::kRelaying;
  to_leader_.emplace(client_.descriptor, leader_.descriptor);
  to_client_.emplace(leader_.descriptor, client_.descriptor);
  // What has arrived before was told before.
  to_leader_->note_input(is_client_over_);
  parts_.owner.on_reached();
}

// ---- events -------------------------------------------------------------------------------------

void RelayedConnection::on_events(Side& side, SocketEvents events) {
  if (phase_ == Phase::kOver) return;
  &side == &client_ ? on_client(events) : on_leader(events);
  if (phase_ == Phase::kRelaying) relay();
}

void RelayedConnection::on_client(SocketEvents events) {
  is_client_over_ = is_client_over_ || events.is_over;
  if (to_leader_) {
    if (events.is_readable) to_leader_->note_input(events.is_over);
  } else if (events.is_broken) {
    end();
  }
}

void RelayedConnection::on_leader(SocketEvents events) {
  if (phase_ == Phase::kConnecting && (events.is_writable || events.is_broken)) {
    finish_connecting();
  }
  if (phase_ == Phase::kRelaying && events.is_readable) to_client_->note_input(events.is_over);
}

void RelayedConnection::relay() {
  if (phase_ != Phase::kRelaying) return;
  const bool has_more_for_client = to_client_->work(parts_.room);
  const bool has_more_for_leader = to_leader_->work(parts_.room);
  // A leader that takes nothing more may have sent its last answers: they come first.
  if (to_client_->state() != RelayPipe::State::kOpen ||
      to_leader_->state() == RelayPipe::State::kSenderBroken) {
    return end();
  }
  if (has_more_for_client || has_more_for_leader) parts_.poller.serve_again(client_);
}

void RelayedConnection::end() {
  close();
  parts_.owner.on_over();
}

void RelayedConnection::close() {
  if (phase_ == Phase::kOver) return;
  phase_ = Phase::kOver;
  // A client that is closed with input unread would lose the last answers.
  if (to_leader_) {
    (void)::recv(client_.descriptor, parts_.room.data(), parts_.room.size(), MSG_DONTWAIT);
  }
  client_.close(parts_.poller);
  close_leader();
}

void RelayedConnection::close_leader() {
  if (route_) parts_.to_leader.erase(*route_);
  route_.reset();
  leader_.close(parts_.poller);
}

}  // namespace millrace::server
