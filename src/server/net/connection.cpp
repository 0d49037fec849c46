#include "server/net/connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

namespace millrace::server {

Connection::Connection(int descriptor, std::unique_ptr<Session> session, Surroundings& surroundings,
                       std::unique_ptr<TlsStream> tls)
    : descriptor_(descriptor),
      session_(std::move(session)),
      surroundings_(surroundings),
      tls_(std::move(tls)) {
  surroundings_.commits.introduce(*session_, *this);
}

Connection::~Connection() {
  drop();
  ::close(descriptor_);
}

void Connection::start(std::function<void()> on_closed) {
  on_closed_ = std::move(on_closed);
  call_session([](Session& session, Time now) { session.start(now); });
  if (phase_ == Phase::kServing && !surroundings_.poller.watch(descriptor_, *this)) drop();
}

// ---- reading ------------------------------------------------------------------------------------

void Connection::on_events(SocketEvents events) {
  is_readable_ |= events.is_readable;
  is_hung_up_ |= events.is_over;
  is_broken_ |= events.is_broken;
  if (events.is_writable && std::exchange(is_waiting_to_write_, false)) send(durable_);
  read_on();
}

void Connection::on_turn() {
  read_on();
}

/// Receives once, and guards all others against what goes wrong in it. The rest is for the next
/// turn, or for when it is wanted; until then only a broken connection is noticed.
void Connection::read_on() {
  if (phase_ == Phase::kClosed) return;
  if (may_read()) {
    if (!is_readable_) return;
    try {
      read_once();
    } catch (const std::exception& exception) {
      surroundings_.log.event("connection_failed", {{"error", exception.what()}});
      drop();
    }
    if (is_readable_ && may_read()) surroundings_.poller.give_turn(*this);
  } else if (is_broken_) {
    drop();
  } else if (surroundings_.commits.is_behind()) {
    surroundings_.commits.remind(*this);
  }
}

bool Connection::may_read() const {
  if (phase_ == Phase::kLingering) return true;
  return session_ && !is_input_over_ && !is_finishing_ && session_->wants_input() &&
         !session_->wants_close() && outbox_.size() < kOutboxBytesMax &&
         !surroundings_.commits.is_behind();
}

bool Connection::is_turn_full() const {
  return surroundings_.turn_output_bytes >= kTurnOutputBytesMax;
}

void Connection::read_once() {
  if (is_turn_full()) return surroundings_.commits.schedule();
  const ssize_t received =
      ::recv(descriptor_, surroundings_.receive_buffer.data(), kReceiveBytes, MSG_DONTWAIT);
  if (received < 0) {
    if (errno == EAGAIN) is_readable_ = false;
    if (errno != EAGAIN && errno != EINTR) drop();
    return;
  }
  // Less than there was room for is all that there was (epoll(7)); then comes the end, if it came.
  const auto size = static_cast<std::size_t>(received);
  if (size < kReceiveBytes && !is_hung_up_) is_readable_ = false;
  take_arrived({surroundings_.receive_buffer.data(), size});
}

/// Nothing means that the client sends nothing more.
void Connection::take_arrived(std::string_view bytes) {
  if (bytes.empty()) is_readable_ = false;
  if (phase_ == Phase::kLingering) {
    if (bytes.empty()) drop();
    return;
  }
  if (tls_ && !bytes.empty()) return take_encrypted(bytes);
  take_input(bytes);
}

void Connection::take_encrypted(std::string_view arrived) {
  std::string plain;
  const bool is_whole = tls_->receive(arrived, plain);
  if (!is_waiting_to_write_) send_encrypted();
  if (!is_whole) return drop();
  if (phase_ == Phase::kServing && !plain.empty()) take_input(plain);
  if (phase_ == Phase::kServing && tls_->is_input_over()) take_input({});
  // What waited for the end of the handshake can leave now.
  if (phase_ == Phase::kServing) surroundings_.commits.enlist(*this);
}

void Connection::take_input(std::string_view bytes) {
  if (bytes.empty()) {
    is_input_over_ = true;
    call_session([](Session& session, Time now) { session.end_of_input(now); });
  } else {
    call_session([bytes](Session& session, Time now) { session.receive(bytes, now); });
  }
}

// ---- the session --------------------------------------------------------------------------------

/// An exception that a session lets out is our bug or a lack of memory: it costs the client its
/// connection and nobody else anything.
template <typename Call>
void Connection::call_session(Call call) {
  try {
    call(*session_, surroundings_.clock.now());
    count_unsent();
    surroundings_.commits.enlist(*this);
  } catch (const std::exception& exception) {
    surroundings_.log.event("session_failed", {{"error", exception.what()}});
    drop();
  }
}

void Connection::resume(Time) {
  if (!session_ || !session_->wants_resume()) return;
  if (surroundings_.commits.is_behind() || is_turn_full()) return;
  call_session([](Session& session, Time now) { session.resume(now); });
}

void Connection::expire(Time now) {
  if (!session_ || session_->close_at() <= now) return drop();
  call_session([](Session& session, Time at) { session.resume(at); });
}

void Connection::leave(Time now) noexcept {
  if (!session_) return;
  surroundings_.commits.forget(*session_, *this);
  session_->close(now);
  session_.reset();
  // What it held goes to others, and the journal has to know.
  surroundings_.commits.schedule();
}

// ---- sending ------------------------------------------------------------------------------------

bool Connection::commit(Lsn lsn, Lsn durable) {
  // What does not fit stays with the session, which then does nothing more, until `settle` enlists.
  if (session_ && outbox_.size() < kOutboxBytesMax) {
    std::string output = session_->take_output();
    outbox_.take(output, lsn);
  }
  count_unsent();  // What was delivered to the session is not counted yet.
  send(durable);
  return outbox_.size() > outbox_.covered(durable).size();
}

void Connection::send(Lsn durable) {
  if (phase_ != Phase::kServing) return;
  durable_ = durable;
  if (!is_waiting_to_write_) send_covered(durable);
  count_unsent();
  if (phase_ == Phase::kServing) settle();
}

/// What the system takes of it; the rest is for when there is room again. Drops the connection when
/// it is broken.
std::size_t Connection::send_now(std::string_view bytes) {
  const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) {
    drop();
    return 0;
  }
  const std::size_t sent_bytes = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  const bool had_stalled = std::exchange(has_stalled_, sent_bytes < bytes.size());
  if (!has_stalled_) return sent_bytes;
  if (sent_bytes > 0 || !had_stalled) stalled_since_ = surroundings_.clock.now();
  is_waiting_to_write_ = true;
  return sent_bytes;
}

void Connection::send_covered(Lsn durable) {
  if (tls_) return encrypt_covered(durable);
  const std::string_view bytes = outbox_.covered(durable);
  if (bytes.empty()) return;
  const std::size_t sent = send_now(bytes);
  if (phase_ != Phase::kServing) return;
  outbox_.consume(sent);
  session_->sent(sent);
}

void Connection::encrypt_covered(Lsn durable) {
  send_encrypted();
  while (phase_ == Phase::kServing && tls_->pending().empty() && tls_->is_open()) {
    const std::string_view bytes = outbox_.covered(durable).substr(0, kTlsWriteBytes);
    if (bytes.empty()) return;
    tls_->write(bytes);
    encrypted_bytes_ = bytes.size();
    outbox_.consume(bytes.size());
    send_encrypted();
  }
}

void Connection::send_encrypted() {
  if (tls_->pending().empty()) return;
  const std::size_t sent = send_now(tls_->pending());
  if (phase_ == Phase::kClosed) return;
  tls_->consume(sent);
  if (!tls_->pending().empty() || !session_) return;
  session_->sent(std::exchange(encrypted_bytes_, 0));
}

void Connection::count_unsent() {
  const std::size_t bytes = outbox_.size() + (session_ ? session_->output().size() : 0);
  if (bytes > unsent_bytes_) surroundings_.turn_output_bytes += bytes - unsent_bytes_;
  surroundings_.unsent_bytes += bytes;
  surroundings_.unsent_bytes -= unsent_bytes_;
  unsent_bytes_ = bytes;
}

/// Looks at what follows from the session's state and from what was sent.
void Connection::settle() {
  if (is_all_sent() && (session_->wants_close() || is_finishing_)) return close_gently();
  surroundings_.ticker.plan(*this, std::min(session_->close_at(), session_->wake_at()));
  // Whatever there is to do then is looked for then.
  if (surroundings_.commits.is_behind()) return surroundings_.commits.remind(*this);
  const bool may_go_on = outbox_.size() < kOutboxBytesMax;
  if (may_go_on && (session_->wants_resume() || !session_->output().empty())) {
    surroundings_.commits.enlist(*this);
  }
  if (is_readable_ && may_read()) surroundings_.poller.give_turn(*this);
}

bool Connection::is_all_sent() const {
  const bool is_done = session_->wants_close() || !session_->wants_resume();
  const bool is_flushed = outbox_.is_empty() && (!tls_ || tls_->pending().empty());
  return is_done && is_flushed && session_->output().empty();
}

// ---- the end ------------------------------------------------------------------------------------

void Connection::finish() {
  // It has its answers already.
  if (phase_ == Phase::kLingering) return drop();
  if (phase_ != Phase::kServing) return;
  is_finishing_ = true;
  // Who waits is answered that nothing came; what was sent is executed; the rest has nothing to
  // lose.
  if (!is_input_over_) {
    call_session([](Session& session, Time now) { session.end_of_input(now); });
  }
  if (phase_ == Phase::kServing && is_all_sent()) drop();
}

void Connection::close_gently() {
  if (is_input_over_) return drop();
  if (tls_) {
    tls_->finish();
    send_encrypted();
    if (phase_ == Phase::kClosed) return;
  }
  leave(surroundings_.clock.now());
  phase_ = Phase::kLingering;
  surroundings_.ticker.plan(*this, surroundings_.clock.now() + kLingerMax);
  ::shutdown(descriptor_, SHUT_WR);
  if (is_readable_) surroundings_.poller.give_turn(*this);
}

void Connection::drop() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  leave(surroundings_.clock.now());
  surroundings_.ticker.plan(*this, kNever);
  outbox_.clear();
  count_unsent();
  surroundings_.poller.forget(descriptor_, *this);
  if (on_closed_) on_closed_();
}

}  // namespace millrace::server
