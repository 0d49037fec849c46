#include "server/net/stream.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <asio/basic_stream_socket.hpp>
#include <asio/buffer.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <utility>

#include "base/check.hpp"
#include "server/net/handler_memory.hpp"
#include "server/net/peer.hpp"

namespace millrace::server {
namespace {

using Socket =
    asio::basic_stream_socket<asio::generic::stream_protocol, asio::io_context::executor_type>;

}  // namespace

/// The socket, and what its handlers touch.
class Stream::Wire : public std::enable_shared_from_this<Stream::Wire> {
 public:
  Wire(asio::io_context& context, int descriptor) : socket(context) {
    asio::error_code error;
    // Nobody here asks for the family.
    socket.assign(asio::generic::stream_protocol(AF_UNSPEC, 0), descriptor, error);
    if (!error) socket.non_blocking(true, error);
  }

  [[nodiscard]] std::string_view take_first() {
    return {first_.data(), std::exchange(first_bytes_, 0)};
  }
  [[nodiscard]] std::size_t receive(char* to, std::size_t bytes_max);
  void await_input();
  void await_break();
  void await_room();

  Socket socket;
  Owner* owner = nullptr;  ///< null: nobody is told
  bool is_reading = false;
  bool is_over = false;
  bool is_failed = false;
  bool is_full = false;

 private:
  struct OnRead {
    std::shared_ptr<Wire> wire;  // shared: see `Stream`
    using allocator_type = HandlerAllocator<void>;
    [[nodiscard]] allocator_type get_allocator() const { return allocator_type(wire->memory_); }
    void operator()(const asio::error_code& error, std::size_t bytes) const {
      wire->on_read(error, bytes);
    }
  };

  void on_read(const asio::error_code& error, std::size_t bytes);
  void note(const asio::error_code& error);

  std::array<char, kFirstBytes> first_;
  std::size_t first_bytes_ = 0;  ///< of `first_`, that were not taken yet
  bool is_break_awaited_ = false;
  HandlerMemory memory_;
};

// ---- what is waited for -------------------------------------------------------------------------

void Stream::Wire::await_input() {
  if (owner == nullptr || is_reading || is_over || is_failed) return;
  is_reading = true;
  // Shared: see `Stream`.
  socket.async_read_some(asio::buffer(first_), OnRead{shared_from_this()});
}

void Stream::Wire::on_read(const asio::error_code& error, std::size_t bytes) {
  is_reading = false;
  if (owner == nullptr) return;
  first_bytes_ = bytes;
  note(error);
  owner->on_input();
}

/// 0: nothing has arrived, or nothing comes any more.
std::size_t Stream::Wire::receive(char* to, std::size_t bytes_max) {
  asio::error_code error;
  std::size_t bytes = 0;
  do bytes = socket.receive(asio::buffer(to, bytes_max), 0, error);
  while (error == asio::error::interrupted);
  note(error);
  return bytes;
}

void Stream::Wire::note(const asio::error_code& error) {
  if (!error || error == asio::error::would_block) return;
  (error == asio::error::eof ? is_over : is_failed) = true;
}

/// A read that waits is told of it as well.
void Stream::Wire::await_break() {
  if (is_reading || std::exchange(is_break_awaited_, true)) return;
  socket.async_wait(Socket::wait_error, [wire = shared_from_this()](const asio::error_code&) {
    wire->is_break_awaited_ = false;
    // Urgent bytes are told too.
    if (wire->owner == nullptr || !server::is_broken(wire->socket.native_handle())) return;
    wire->is_failed = true;
    wire->owner->on_input();
  });
}

void Stream::Wire::await_room() {
  if (std::exchange(is_full, true)) return;
  socket.async_wait(Socket::wait_write, [wire = shared_from_this()](const asio::error_code&) {
    if (wire->owner == nullptr) return;
    wire->is_full = false;
    wire->owner->on_room();
  });
}

// ---- the stream ---------------------------------------------------------------------------------

Stream::Stream(asio::io_context& context, int descriptor, std::unique_ptr<TlsStream> tls)
    : descriptor_(descriptor),
      // Shared: a handler may run after the stream is gone.
      wire_(std::make_shared<Wire>(context, descriptor)),
      tls_(std::move(tls)) {}

Stream::~Stream() {
  stop();
  if (!wire_->socket.is_open()) ::close(descriptor_);
  asio::error_code ignored;
  wire_->socket.close(ignored);
}

bool Stream::begin(Owner& owner) {
  if (!wire_->socket.is_open()) return false;
  wire_->owner = &owner;
  wire_->await_input();
  return true;
}

void Stream::stop() {
  wire_->owner = nullptr;
}

void Stream::await_input() {
  wire_->await_input();
}

bool Stream::has_end() const {
  return wire_->is_over;
}

bool Stream::is_broken() const {
  return wire_->is_failed;
}

void Stream::await_break() {
  wire_->await_break();
}

bool Stream::is_full() const {
  return wire_->is_full;
}

// ---- receiving ----------------------------------------------------------------------------------

Stream::Received Stream::receive_raw(ReceiveBuffer& buffer, std::size_t bytes_max) {
  CHECK(bytes_max >= kFirstBytes && bytes_max <= buffer.arrived.size());
  const std::string_view first = wire_->take_first();
  // Less than there was room for is all that there was (epoll(7)).
  if (!first.empty() && first.size() < kFirstBytes) {
    return {.bytes = first, .is_in_place = true, .is_empty = !wire_->is_failed};
  }
  first.copy(buffer.arrived.data(), first.size());
  const bool has_told_all = wire_->is_over || wire_->is_failed || wire_->is_reading;
  const std::size_t more =
      has_told_all ? 0 : wire_->receive(&buffer.arrived[first.size()], bytes_max - first.size());
  const std::size_t bytes = first.size() + more;
  if (bytes > 0) {
    return {.bytes = {buffer.arrived.data(), bytes},
            .is_empty = bytes < bytes_max && !wire_->is_failed};
  }
  if (wire_->is_over) return {.is_end = true, .is_empty = true};
  return {.is_nothing = !wire_->is_failed, .is_failed = wire_->is_failed};
}

Stream::Received Stream::receive(ReceiveBuffer& buffer, std::size_t bytes_max) {
  const bool has_unread = tls_ && tls_->has_unread();
  Received received = has_unread ? Received{} : receive_raw(buffer, bytes_max);
  if (has_unread || (tls_ && !received.bytes.empty())) decrypt(buffer, received);
  return received;
}

void Stream::decrypt(ReceiveBuffer& buffer, Received& received) {
  const bool was_open = tls_->is_open();
  buffer.decrypted.clear();
  const bool is_whole = tls_->receive(received.bytes, buffer.decrypted);
  received.bytes = buffer.decrypted;
  received.is_in_place = false;
  if (tls_->has_unread()) received.is_empty = false;
  received.is_end = tls_->is_input_over();
  received.has_opened = !was_open && tls_->is_open();
  // Its part of the handshake, or why it is over.
  const bool is_sent = is_full() || send_pending();
  received.is_failed = !is_whole || !is_sent;
}

// ---- sending ------------------------------------------------------------------------------------

std::optional<std::size_t> Stream::send(std::string_view bytes) {
  return tls_ ? send_encrypted(bytes) : send_plain(bytes);
}

std::optional<std::size_t> Stream::send_plain(std::string_view bytes) {
  if (bytes.empty()) return 0;
  asio::error_code error;
  std::size_t sent = 0;
  do {
    sent = wire_->socket.send(asio::buffer(bytes.data(), bytes.size()), 0, error);
  } while (error == asio::error::interrupted);
  if (error && error != asio::error::would_block) return std::nullopt;
  if (sent < bytes.size()) wire_->await_room();
  return sent;
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
  asio::error_code ignored;
  wire_->socket.shutdown(Socket::shutdown_send, ignored);
}

}  // namespace millrace::server
