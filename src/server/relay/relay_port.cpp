#include "server/relay/relay_port.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <iterator>
#include <system_error>

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

constexpr Duration kRelayEndLook = std::chrono::seconds(1);

}  // namespace

void RelayPipe::work(std::span<char> room) {
  if (is_full()) send(std::exchange(kept_, {}));
  for (int round = 0; round < kRelayRoundsPerTurn; ++round) {
    if (is_full() || state_ != State::kOpen) return;
    const std::size_t size = receive(room);
    send({room.data(), size});
    // More that has come by now is told at once.
    if (size < room.size()) return;
  }
}

/// Keeps what the system has no room for.
void RelayPipe::send(std::string_view bytes) {
  std::error_code problem;
  const std::size_t sent = to_.write_some(asio::buffer(bytes), problem);
  moved_bytes_ += sent;
  if (problem && problem != asio::error::would_block) {
    state_ = State::kReceiverBroken;
    return;
  }
  // One that is held up seldom needs no room for it.
  std::string(bytes.substr(sent)).swap(kept_);
}

/// 0: nothing has arrived, or the end.
std::size_t RelayPipe::receive(std::span<char> room) {
  std::error_code problem;
  const std::size_t size = from_.read_some(asio::buffer(room.data(), room.size()), problem);
  if (!problem || problem == asio::error::would_block) return size;
  state_ = State::kSenderBroken;
  if (problem == asio::error::eof) {
    to_.shutdown(RelaySocket::shutdown_send, problem);
    state_ = problem ? State::kReceiverBroken : State::kEnded;
  }
  return 0;
}

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
