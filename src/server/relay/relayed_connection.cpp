#include "server/relay/relayed_connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {
namespace {

/// A leader whose machine is gone does not even say that the connection is over. A client that
/// only waits would learn it after two hours, which is the system's limit. 25 s here. No limit for
/// bytes that the leader does not take: it may be holding its clients up.
void limit_silence(int descriptor) {
  constexpr int kOn = 1;
  (void)::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  constexpr std::pair<int, int> kOptions[] = {
      {TCP_NODELAY, 1}, {TCP_KEEPIDLE, 10}, {TCP_KEEPINTVL, 5}, {TCP_KEEPCNT, 3}};
  for (const auto& [option, value] : kOptions) {
    (void)::setsockopt(descriptor, IPPROTO_TCP, option, &value, sizeof value);
  }
}

}  // namespace

RelayedConnection::RelayedConnection(Parts parts)
    : parts_(std::move(parts)),
      client_(parts_.poller.context()),
      leader_(parts_.poller.context()) {}

bool RelayedConnection::begin(int client) {
  std::error_code problem;
  client_.assign({AF_UNSPEC, 0}, client, problem);
  if (problem) {
    ::close(client);
    return false;
  }
  client_.non_blocking(true, problem);
  // Urgent data is told as well.
  client_.async_wait(RelaySocket::wait_error, [self = shared_from_this()](const std::error_code&) {
    const bool has_client = self->phase_ == Phase::kWaiting || self->phase_ == Phase::kConnecting;
    if (has_client && is_broken(self->client_.native_handle())) self->end();
  });
  return true;
}

// ---- before the leader is reached ---------------------------------------------------------------

void RelayedConnection::connect(const SocketName& leader) {
  CHECK(phase_ == Phase::kWaiting);
  const RelaySocket::endpoint_type to(&leader.storage, leader.size);
  std::error_code problem;
  leader_.open(to.protocol(), problem);
  if (!problem) leader_.non_blocking(true, problem);
  if (problem) return finish_connecting(problem);
  limit_silence(leader_.native_handle());
  phase_ = Phase::kConnecting;
  leader_.async_connect(
      to, [self = shared_from_this(), attempt = ++attempts_](const std::error_code& failure) {
        const bool is_current = attempt == self->attempts_;
        if (self->phase_ == Phase::kConnecting && is_current) self->finish_connecting(failure);
      });
  const auto near = near_end(leader_.native_handle());
  const auto far = place_of(reinterpret_cast<const sockaddr*>(&leader.storage));
  if (near && far) parts_.to_leader.insert(*(route_ = Route{.near = *near, .far = *far}));
}

void RelayedConnection::wait() {
  CHECK(phase_ == Phase::kWaiting || phase_ == Phase::kConnecting);
  close_leader();
  phase_ = Phase::kWaiting;
}

int RelayedConnection::release() {
  wait();
  phase_ = Phase::kOver;
  return client_.release();
}

void RelayedConnection::finish_connecting(const std::error_code& problem) {
  if (problem) {
    wait();
    return parts_.tell(Event::kNotReached);
  }
  phase_ = Phase::kRelaying;
  to_leader_.emplace(client_, leader_);
  to_client_.emplace(leader_, client_);
  parts_.tell(Event::kReached);
  pass_on();
}

// ---- afterwards ---------------------------------------------------------------------------------

void RelayedConnection::pass_on() {
  const auto self = shared_from_this();  // its owner lets it go at the end
  for (RelayPipe* pipe : {&*to_leader_, &*to_client_}) {
    if (!pipe->waits()) pipe->work(parts_.room);
  }
  // A leader that takes nothing more may have sent its last answers: they come first.
  const bool is_over = to_client_->state() != RelayPipe::State::kOpen ||
                       to_leader_->state() == RelayPipe::State::kSenderBroken;
  if (is_over) return end();
  // After all others that are at it: more may have come by then.
  asio::post(parts_.poller.context(), [self] {
    if (self->phase_ == Phase::kRelaying) self->wait_for_more();
  });
}

void RelayedConnection::wait_for_more() {
  const auto serve = [self = shared_from_this()](const std::error_code&) {
    if (self->phase_ == Phase::kRelaying) self->pass_on();
  };
  to_leader_->wait(serve);
  to_client_->wait(serve);
}

/// The end of one that is not read is seen by asking.
bool RelayedConnection::is_client_over() {
  if (phase_ != Phase::kRelaying) return false;
  const bool is_read = to_leader_->state() == RelayPipe::State::kOpen && !to_leader_->is_full();
  return !is_read && has_ended(client_.native_handle());
}

void RelayedConnection::end() {
  close();
  parts_.tell(Event::kOver);
}

void RelayedConnection::close() {
  if (std::exchange(phase_, Phase::kOver) == Phase::kOver) return;
  std::error_code ignored;
  // A client that is closed with input unread would lose the last answers.
  if (to_leader_) client_.read_some(asio::buffer(parts_.room.data(), parts_.room.size()), ignored);
  client_.close(ignored);
  close_leader();
}

void RelayedConnection::close_leader() {
  if (route_) parts_.to_leader.erase(*route_);
  route_.reset();
  std::error_code ignored;
  leader_.close(ignored);
}

}  // namespace millrace::server
