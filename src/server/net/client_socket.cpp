#include "server/net/client_socket.hpp"

#include <exception>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {
ClientSocket::ClientSocket(int descriptor, std::unique_ptr<TlsStream> tls, Parts& parts)
    : stream_(parts.poller.context(), descriptor, std::move(tls)), parts_(parts) {}

ClientSocket::~ClientSocket() {
  CHECK(session_ == nullptr || state_ == ConnectionState::kClosed);
}

void ClientSocket::open(SessionHalf& session, std::function<void()> on_closed) {
  CHECK(session_ == nullptr && state_ == ConnectionState::kOpen);
  session_ = &session;
  on_closed_ = std::move(on_closed);
  session_->start();
  // A session that failed has dropped the connection.
  if (is_serving() && !stream_.begin(*this)) drop();
}

bool ClientSocket::is_serving() const {
  return state_ == ConnectionState::kOpen || state_ == ConnectionState::kHalfOpen;
}

void ClientSocket::move(ConnectionEvent event) {
  const std::optional<ConnectionState> next = next_state(state_, event);
  CHECK(next.has_value());
  state_ = *next;
}

// ---- receiving ----------------------------------------------------------------------------------

void ClientSocket::on_input() {
  has_input_ = true;
  const bool is_over = stream_.has_end() || stream_.is_broken();
  is_over ? parts_.poller.serve_first(*this) : parts_.poller.serve(*this);
}

void ClientSocket::on_room() {
  has_room_ = true;
  parts_.poller.serve(*this);
}

void ClientSocket::on_ready() {
  if (std::exchange(has_room_, false) && is_serving()) session_->has_room();
  // Those that wait already come first.
  if (parts_.poller.has_turned_away() && is_serving() && !session_->is_brief()) {
    return parts_.poller.serve_again(*this);
  }
  const Served served = serve_input();
  if (served == Served::kNotYet) parts_.poller.serve_again(*this);
  // After the last bytes comes the end, which other clients shall see before they ask.
  if (served == Served::kEndIsNext) (void)serve_input();
}

bool ClientSocket::on_served_again() {
  return serve_input() != Served::kNotYet;
}

void ClientSocket::on_wait() {
  if (!has_input_) stream_.await_input();
}

void ClientSocket::read_on() {
  if (!has_input_ || state_ == ConnectionState::kClosed) return;
  may_receive() ? parts_.poller.serve_again(*this) : hold();
}

/// What arrived is left where it is, but a connection that is broken must not stay.
void ClientSocket::hold() {
  stream_.is_broken() ? lose() : stream_.await_break();
}

bool ClientSocket::may_receive() {
  if (state_ == ConnectionState::kLingering) return true;
  return state_ == ConnectionState::kOpen && session_->offer_input();
}

/// Receives once, and guards all others against what fails in it. The rest is for the next
/// `take`, or for when it is wanted.
ClientSocket::Served ClientSocket::serve_input() {
  if (state_ == ConnectionState::kClosed || !has_input_) return Served::kNow;
  if (!may_receive()) {
    hold();
    return Served::kNow;
  }
  const bool is_lingering = state_ == ConnectionState::kLingering;
  const std::size_t share = is_lingering ? kReceiveBytes : session_->input_share();
  if (share == 0) return Served::kNotYet;
  Served served = Served::kNow;
  try {
    served = receive(share);
  } catch (const std::exception& exception) {
    parts_.log.event("connection_failed", {{"error", exception.what()}});
    drop();
  }
  read_on();
  return served;
}

ClientSocket::Served ClientSocket::receive(std::size_t share) {
  const Stream::Received received = state_ == ConnectionState::kLingering
                                        ? stream_.receive_raw(parts_.buffer, share)
                                        : stream_.receive(parts_.buffer, share);
  const bool is_end_next = received.is_empty && !received.is_end && stream_.has_end();
  const bool is_all = received.is_nothing || received.is_end || received.is_empty;
  if (is_all && !is_end_next) has_input_ = false;
  hand_on(received);
  // When the client has its answer, it may have sent more by then.
  if (!has_input_ && state_ != ConnectionState::kClosed) parts_.poller.serve_before_wait(*this);
  return is_end_next ? Served::kEndIsNext : Served::kNow;
}

void ClientSocket::hand_on(const Stream::Received& received) {
  if (received.is_failed) return lose();
  if (state_ == ConnectionState::kLingering) {
    if (received.is_end) close(ConnectionEvent::kInputEnded);
    return;
  }
  if (!received.bytes.empty()) session_->receive(received.bytes);
  if (received.is_end && is_serving()) {
    move(ConnectionEvent::kInputEnded);
    stream_.await_break();
    session_->end_input();
  }
  // What waited for the end of a handshake can leave now.
  if (received.has_opened && is_serving()) session_->has_room();
}

// ---- sending ------------------------------------------------------------------------------------

void ClientSocket::give(std::string& bytes, Lsn lsn) {
  CHECK(is_serving());
  outbox_.take(bytes, lsn);
}

bool ClientSocket::send_durable(Lsn durable) {
  if (!is_serving()) return false;
  if (!stream_.is_full()) send_covered(durable);
  return outbox_.size() > outbox_.covered(durable).size();
}

void ClientSocket::send_covered(Lsn durable) {
  const std::string_view bytes = outbox_.covered(durable);
  const std::optional<std::size_t> sent = stream_.send(bytes);
  if (!sent) return lose();
  if (!stream_.is_full()) {
    stalled_since_.reset();
  } else if (*sent > 0 || !stalled_since_) {
    stalled_since_ = parts_.clock.now();
  }
  if (*sent == 0) return;
  outbox_.consume(*sent);
  session_->sent(*sent);
}

// ---- the end ------------------------------------------------------------------------------------

void ClientSocket::finish() {
  CHECK(is_serving() && outbox_.is_empty());
  if (state_ == ConnectionState::kHalfOpen) return close(ConnectionEvent::kFinished);
  linger();
}

void ClientSocket::linger() {
  move(ConnectionEvent::kFinished);
  session_->close(is_broken_);
  stream_.shut_down();
  parts_.ticker.plan(*this, parts_.clock.now() + kLingerMax);
  read_on();
}

void ClientSocket::expire(Time) {
  drop();
}

/// By the client or the network.
void ClientSocket::lose() {
  is_broken_ = true;
  drop();
}

void ClientSocket::drop() {
  if (state_ != ConnectionState::kClosed) close(ConnectionEvent::kBroken);
}

/// The socket is closed with the connection's end, which takes the system as long as all that came
/// before it: that can wait for a moment.
void ClientSocket::close(ConnectionEvent event) {
  move(event);
  CHECK(state_ == ConnectionState::kClosed);
  session_->close(is_broken_);
  parts_.ticker.plan(*this, kNever);
  outbox_.clear();
  stalled_since_.reset();
  parts_.poller.forget(*this);
  stream_.stop();
  on_closed_();
}

}  // namespace millrace::server
