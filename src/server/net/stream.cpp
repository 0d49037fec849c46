#include "server/net/stream.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {

Stream::Stream(int descriptor, std::unique_ptr<TlsStream> tls)
    : descriptor_(descriptor), tls_(std::move(tls)) {}

Stream::~Stream() {
  ::close(descriptor_);
}

// ---- receiving ----------------------------------------------------------------------------------

Stream::Received Stream::discard(ReceiveBuffer& buffer, std::size_t bytes_max) {
  CHECK(bytes_max > 0 && bytes_max <= buffer.arrived.size());
  const ssize_t size = ::recv(descriptor_, buffer.arrived.data(), bytes_max, MSG_DONTWAIT);
  if (size < 0) {
    if (errno == EINTR) return {};
    return {.is_nothing = errno == EAGAIN, .is_failed = errno != EAGAIN};
  }
  if (size == 0) return {.is_end = true, .is_empty = true};
  // Less than there was room for is all that there was (epoll(7)).
  const auto bytes = static_cast<std::size_t>(size);
  return {.bytes = {buffer.arrived.data(), bytes}, .is_empty = bytes < bytes_max};
}

Stream::Received Stream::receive(ReceiveBuffer& buffer, std::size_t bytes_max) {
  const bool has_unread = tls_ && tls_->has_unread();
  Received received = has_unread ? Received{} : discard(buffer, bytes_max);
  if (has_unread || (tls_ && !received.bytes.empty())) decrypt(buffer, received);
  return received;
}

void Stream::decrypt(ReceiveBuffer& buffer, Received& received) {
  const bool was_open = tls_->is_open();
  buffer.decrypted.clear();
  const bool is_whole = tls_->receive(received.bytes, buffer.decrypted);
  received.bytes = buffer.decrypted;
  if (tls_->has_unread()) received.is_empty = false;
  received.is_end = tls_->is_input_over();
  received.has_opened = !was_open && tls_->is_open();
  // Its part of the handshake, or why it is over.
  const bool is_sent = is_full_ || send_pending();
  received.is_failed = !is_whole || !is_sent;
}

// ---- sending ------------------------------------------------------------------------------------

std::optional<std::size_t> Stream::send(std::string_view bytes) {
  return tls_ ? send_encrypted(bytes) : send_plain(bytes);
}

std::optional<std::size_t> Stream::send_plain(std::string_view bytes) {
  if (bytes.empty()) return 0;
  ssize_t sent = 0;
  do {
    sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno != EAGAIN) return std::nullopt;
  const std::size_t sent_bytes = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  is_full_ = sent_bytes < bytes.size();
  return sent_bytes;
}

/// False when nothing can be sent any more.
bool Stream::send_pending() {
  const std::optional<std::size_t> sent = send_plain(tls_->pending());
  if (sent) tls_->consume(*sent);
  return sent.has_value();
}

std::optional<std::size_t> Stream::send_encrypted(std::string_view bytes) {
  std::size_t sent = 0;
  for (;;) {
    if (!send_pending()) return std::nullopt;
    if (!tls_->pending().empty()) return sent;
    sent += std::exchange(encrypted_bytes_, 0);
    CHECK(sent <= bytes.size());
    const std::string_view next = bytes.substr(sent, kTlsWriteBytes);
    if (next.empty() || !tls_->is_open()) return sent;
    tls_->write(next);
    encrypted_bytes_ = next.size();
  }
}

void Stream::shut_down() {
  CHECK(encrypted_bytes_ == 0);
  if (tls_) {
    tls_->finish();
    // A client that is gone learns nothing; what is left is noticed when the end arrives.
    (void)send_pending();
  }
  ::shutdown(descriptor_, SHUT_WR);
}

}  // namespace millrace::server
