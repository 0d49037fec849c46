#include "server/net/client_socket.hpp"

#include <unistd.h>

#include <exception>
#include <utility>

#include "base/buffer.hpp"
#include "base/check.hpp"
#include "server/net/io_thread.hpp"

namespace millrace::server {

ClientSocket::~ClientSocket() {
  CHECK(!stream_ || state_ == ConnectionState::kClosed);
  if (!stream_) ::close(descriptor_);
}

void ClientSocket::open(IoThread& thread) {
  CHECK(thread_ == nullptr && session_ != nullptr);
  thread_ = &thread;
  stream_.emplace(thread.context(), descriptor_, std::move(tls_));
  if (!stream_->begin(*this)) close(ConnectionEvent::kBroken, false);
}

bool ClientSocket::is_serving() const {
  return state_ == ConnectionState::kOpen || state_ == ConnectionState::kHalfOpen;
}

void ClientSocket::move(ConnectionEvent event) {
  const std::optional<ConnectionState> next = next_state(state_, event);
  CHECK(next.has_value());
  state_ = *next;
}

Arrival& ClientSocket::tell() {
  Arrival& arrival = thread_->tell(*session_);
  arrival.sent_bytes = std::exchange(untold_bytes_, 0);
  return arrival;
}

void ClientSocket::obey(Order& order) {
  if (is_serving() && !order.output.empty()) outbox_.take(order.output, order.lsn);
  order.output.clear();
  if (state_ == ConnectionState::kClosed) return;
  switch (order.then) {
    case Order::Then::kFinish:
    case Order::Then::kEnd:
      ending_ = order.then;
      break;
    case Order::Then::kDrop:
      return close(ConnectionEvent::kBroken, false);
    case Order::Then::kReadOn:
      read_on();
      break;
    case Order::Then::kHold:
      hold();
      break;
    case Order::Then::kNothing:
    case Order::Then::kOpen:
    case Order::Then::kForget:
      break;
  }
  send();
}

// ---- receiving ----------------------------------------------------------------------------------

void ClientSocket::on_input() {
  has_input_ = true;
  look_for_input();
}

void ClientSocket::look_for_input() {
  if (state_ == ConnectionState::kLingering) return drain();
  const bool may_receive = state_ == ConnectionState::kOpen && !is_handed_on_;
  if (may_receive && has_input_) return receive();
  if (!may_receive && is_serving() && stream_->is_broken()) close(ConnectionEvent::kBroken, true);
}

void ClientSocket::await_input() {
  if (!has_input_ && !is_handed_on_) stream_->await_input();
}

void ClientSocket::read_on() {
  if (!std::exchange(is_handed_on_, false)) return;
  if (has_input_) return look_for_input();
  reset(input_, 0);  // An idle connection keeps no buffer.
  // When the client has its answer, it may have sent more by then.
  thread_->await_input(*this);
}

/// What arrived is left where it is, but a connection that is broken must not stay.
void ClientSocket::hold() {
  stream_->is_broken() ? close(ConnectionEvent::kBroken, true) : stream_->await_break();
}

/// Receives once, and guards all others against what fails in it. The rest is for when the session
/// has taken this.
void ClientSocket::receive() {
  try {
    hand_on(stream_->receive(thread_->buffer(), kReceiveBytes));
  } catch (const std::exception& exception) {
    thread_->log().event("connection_failed", {{"error", exception.what()}});
    close(ConnectionEvent::kBroken, false);
  }
}

void ClientSocket::hand_on(const Stream::Received& received) {
  const bool is_end = received.is_end || (received.is_empty && stream_->has_end());
  has_input_ = !received.is_nothing && !received.is_empty && !is_end;
  // A client that has left in the handshake can be told nothing.
  const bool has_left = is_end && !stream_->is_open();
  if (received.is_failed || has_left) return close(ConnectionEvent::kBroken, true);
  // What waited for the end of a handshake can leave now.
  if (received.has_opened) send();
  if (!received.bytes.empty()) {
    thread_->count_received(received.bytes.size());
    is_handed_on_ = true;
    // In a buffer that the next socket uses too.
    if (!received.is_in_place) input_ = received.bytes;
    if (ahead_) ahead_->read(received.bytes);
    Arrival& arrival = tell();
    arrival.input = received.is_in_place ? received.bytes : std::string_view(input_);
    arrival.is_end = is_end;
  } else if (is_end) {
    tell().is_end = true;
  } else {
    return has_input_ ? thread_->receive_later(*this) : thread_->await_input(*this);
  }
  if (!is_end) return;
  move(ConnectionEvent::kInputEnded);
  stream_->await_break();
}

/// What still arrives is thrown away.
void ClientSocket::drain() {
  const Stream::Received received = stream_->receive_raw(thread_->buffer(), kReceiveBytes);
  if (received.is_failed || received.is_end || stream_->has_end()) {
    return close(ConnectionEvent::kInputEnded, false);
  }
  has_input_ = !received.is_nothing && !received.is_empty;
  has_input_ ? thread_->receive_later(*this) : thread_->await_input(*this);
}

// ---- sending ------------------------------------------------------------------------------------

void ClientSocket::on_room() {
  send();
}

void ClientSocket::send_again() {
  is_listed_ = false;
  send();
}

/// Sends what may leave, and sees to the rest.
void ClientSocket::send() {
  if (!is_serving()) return;
  // Once, since it changes by another thread.
  const Lsn answerable = thread_->answerable();
  if (!stream_->is_full() && !send_covered(answerable)) {
    return close(ConnectionEvent::kBroken, true);
  }
  if (outbox_.is_empty()) {
    if (ending_ != Order::Then::kNothing) return finish();
  } else if (!stream_->is_full() && !is_listed_) {
    await_sending(answerable);
  }
  const bool is_full = stream_->is_full();
  const bool has_news = is_full != is_told_full_ || (is_full && untold_bytes_ > 0);
  if (!has_news && untold_bytes_ < kSentBytesUntold) return;
  tell().is_full = is_told_full_ = is_full;
}

void ClientSocket::await_sending(Lsn answerable) {
  const std::size_t bytes = outbox_.covered(answerable).size();
  // Else it waits for the end of a handshake, and then `hand_on` sends.
  if (bytes > 0 && thread_->may_send(bytes)) return;
  is_listed_ = true;
  bytes > 0 ? thread_->send_later(*this) : thread_->await_durable(*this, answerable);
}

/// False: nothing can be sent any more.
bool ClientSocket::send_covered(Lsn answerable) {
  const std::string_view bytes = outbox_.covered(answerable);
  if (bytes.empty() || !thread_->may_send(bytes.size())) return true;
  const std::optional<std::size_t> sent = stream_->send(bytes);
  if (!sent) return false;
  thread_->count_sent(*sent);
  untold_bytes_ += *sent;
  outbox_.consume(*sent);
  return true;
}

// ---- the end ------------------------------------------------------------------------------------

/// All was sent, and no more comes.
void ClientSocket::finish() {
  if (state_ == ConnectionState::kHalfOpen) return close(ConnectionEvent::kFinished, false);
  if (ending_ == Order::Then::kEnd) return close(ConnectionEvent::kBroken, false);
  move(ConnectionEvent::kFinished);
  tell().is_over = true;
  has_told_over_ = true;
  stream_->shut_down();
  is_handed_on_ = false;
  reset(input_, 0);
  has_input_ ? look_for_input() : thread_->await_input(*this);
}

/// The socket is closed when it is forgotten, which takes the system as long as all that came
/// before it: that can wait for a moment.
void ClientSocket::close(ConnectionEvent event, bool is_broken) {
  move(event);
  CHECK(state_ == ConnectionState::kClosed);
  Arrival& arrival = tell();
  arrival.is_over = !std::exchange(has_told_over_, true);
  arrival.is_broken = is_broken;
  arrival.is_gone = true;
  outbox_.clear();
  stream_->stop();
}

}  // namespace millrace::server
