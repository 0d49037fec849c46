#include "server/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <cerrno>
#include <exception>

namespace millrace::server {

Connection::Connection(Socket socket, std::unique_ptr<Session> session, Surroundings& surroundings)
    : socket_(std::move(socket)), session_(std::move(session)), surroundings_(surroundings) {
  surroundings_.commits.introduce(*session_, *this);
}

Connection::~Connection() {
  drop();
}

// ---- reading ------------------------------------------------------------------------------------

Task<void> Connection::run() {
  call_session([](Session& session, Time now) { session.start(now); });
  co_await read_loop();
  drop();
  // The handler of a cancelled wait is still to come, and uses this object.
  while (is_waiting_to_write_) co_await asio::post(socket_.get_executor(), kAwait);
}

Task<void> Connection::read_loop() {
  while (phase_ != Phase::kClosed) {
    if (may_read()) {
      co_await wait_until_readable();
    } else {
      co_await wait_until_wanted();
    }
  }
}

Task<void> Connection::wait_until_readable() {
  asio::error_code error;
  co_await socket_.async_wait(Socket::wait_read, asio::redirect_error(kAwait, error));
  if (!error && phase_ != Phase::kClosed) read_once();
}

/// Until there is room again for what the client sends. Meanwhile only a broken connection is
/// noticed; urgent data, which no client of ours sends, counts as one.
Task<void> Connection::wait_until_wanted() {
  if (surroundings_.commits.is_behind()) surroundings_.commits.enlist(*this);
  is_parked_ = true;
  asio::error_code error;
  co_await socket_.async_wait(Socket::wait_error, asio::redirect_error(kAwait, error));
  is_parked_ = false;
  if (!error) drop();
}

bool Connection::may_read() const {
  if (phase_ == Phase::kLingering) return true;
  return session_ && !is_input_over_ && !is_finishing_ && session_->wants_input() &&
         !session_->wants_close() && outbox_.size() < kOutboxBytesMax &&
         !surroundings_.commits.is_behind();
}

void Connection::read_once() {
  // Two waits may both have ended before the first of them got here.
  if (!may_read()) return;
  const ssize_t received = ::recv(socket_.native_handle(), surroundings_.receive_buffer.data(),
                                  kReceiveBytes, MSG_DONTWAIT);
  if (received < 0) {
    if (errno != EAGAIN && errno != EINTR) drop();
    return;
  }
  if (phase_ == Phase::kLingering) {
    if (received == 0) drop();
    return;
  }
  take_input(static_cast<std::size_t>(received));
}

void Connection::take_input(std::size_t size) {
  if (size == 0) {
    is_input_over_ = true;
    call_session([](Session& session, Time now) { session.end_of_input(now); });
  } else {
    const std::string_view bytes(surroundings_.receive_buffer.data(), size);
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
    surroundings_.commits.enlist(*this);
  } catch (const std::exception& exception) {
    surroundings_.log.event("session_failed", {{"error", exception.what()}});
    drop();
  }
}

void Connection::resume(Time) {
  if (!session_ || !session_->wants_resume()) return;
  call_session([](Session& session, Time now) { session.resume(now); });
}

void Connection::expire(Time) {
  drop();
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
  if (session_ && outbox_.size() < kOutboxBytesMax) outbox_.take(session_->output(), lsn);
  send(durable);
  return outbox_.size() > outbox_.covered(durable).size() || surroundings_.commits.is_behind();
}

void Connection::send(Lsn durable) {
  if (phase_ != Phase::kServing) return;
  durable_ = durable;
  if (!is_waiting_to_write_) send_covered(durable);
  if (phase_ == Phase::kServing) settle();
}

void Connection::send_covered(Lsn durable) {
  const std::string_view bytes = outbox_.covered(durable);
  if (bytes.empty()) return;
  const ssize_t sent =
      ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return drop();
  const std::size_t sent_bytes = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  const bool is_rest = sent_bytes < bytes.size();
  outbox_.consume(sent_bytes);
  if (is_rest) wait_until_writable();
}

void Connection::wait_until_writable() {
  is_waiting_to_write_ = true;
  socket_.async_wait(Socket::wait_write, [this](const asio::error_code&) {
    // Cancelled or not: whether the socket is still full is found out by sending.
    is_waiting_to_write_ = false;
    send(durable_);
  });
}

/// Looks at what follows from the session's state and from what was sent.
void Connection::settle() {
  if (is_all_sent() && (session_->wants_close() || is_finishing_)) return close_gently();
  const bool is_room = outbox_.size() < kOutboxBytesMax;
  if (is_room && (session_->wants_resume() || !session_->output().empty())) {
    surroundings_.commits.enlist(*this);
  }
  surroundings_.ticker.plan(*this, session_->close_at());
  if (is_parked_ && may_read()) socket_.cancel();
}

bool Connection::is_all_sent() const {
  const bool is_done = session_->wants_close() || !session_->wants_resume();
  return is_done && outbox_.is_empty() && session_->output().empty();
}

// ---- the end ------------------------------------------------------------------------------------

void Connection::finish() {
  if (phase_ != Phase::kServing) return;
  is_finishing_ = true;
  // Nothing is on its way, so there is nothing to lose.
  if (is_all_sent()) drop();
}

void Connection::close_gently() {
  if (is_input_over_) return drop();
  leave(surroundings_.clock.now());
  phase_ = Phase::kLingering;
  surroundings_.ticker.plan(*this, surroundings_.clock.now() + kLingerMax);
  asio::error_code error;
  socket_.shutdown(Socket::shutdown_send, error);
  if (is_parked_) socket_.cancel(error);
}

void Connection::drop() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  leave(surroundings_.clock.now());
  surroundings_.ticker.plan(*this, kNever);
  outbox_.clear();
  asio::error_code error;
  socket_.close(error);
}

}  // namespace millrace::server
