#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/net/tls.hpp"
#include "server/web/body_room.hpp"

namespace millrace::server {

/// The socket of one connection. Input is collected without waiting until a request is complete,
/// and output that the socket does not take stays in memory: so a slow client holds no thread. Used
/// by one thread at a time.
class WebStream {
 public:
  using Steady = std::chrono::steady_clock;

  /// Owns the descriptor. `tls`: null on a port without encryption.
  WebStream(int descriptor, std::unique_ptr<TlsStream> tls);
  ~WebStream();
  WebStream(const WebStream&) = delete;
  WebStream& operator=(const WebStream&) = delete;

  /// Collects input that has arrived, until a request is complete. Does not wait. False: the
  /// connection has ended.
  [[nodiscard]] bool receive();

  /// True when the next request is complete: its head, or after `await_body` its head and body.
  /// Also true when its head is longer than the limit, so that it can be refused.
  [[nodiscard]] bool has_request() const;

  /// True when the next request has this method.
  [[nodiscard]] bool is_asked_by(std::string_view method) const {
    return input().starts_with(method) && input().substr(method.size()).starts_with(' ');
  }

  /// All that has arrived, from the beginning of the next request. Heads in it are plain.
  [[nodiscard]] std::string_view input() const { return input_; }

  /// The next request is complete when `request_bytes` have arrived. Keeps the room of its body
  /// until `end_request`.
  void await_body(std::size_t request_bytes, BodyRoom::Share share);
  [[nodiscard]] bool awaits_body() const { return awaited_ > 0; }
  /// The request of that length was answered: frees what it took.
  void end_request(std::size_t request_bytes);

  /// False: the connection cannot be used any more.
  [[nodiscard]] bool write(std::string_view text);

  /// Sends as much output as the socket takes. Does not wait. False: the connection is broken.
  [[nodiscard]] bool flush();
  [[nodiscard]] bool has_output() const { return !output().empty(); }

  /// Ends the output; nothing may be written after it. Call `discard_input` for a while before the
  /// stream is destroyed: closing a socket with unread input would also discard the last answer.
  void finish();
  /// Drops input that has arrived. False: the client has closed the connection.
  [[nodiscard]] bool discard_input();

  [[nodiscard]] int socket() const { return descriptor_; }

 private:
  enum class Arrival { kSome, kNone, kOver };

  [[nodiscard]] Arrival take_arrived();
  void make_head_plain();
  [[nodiscard]] std::string_view output() const;

  int descriptor_;
  std::unique_ptr<TlsStream> tls_;
  std::string output_;    ///< unsent bytes on a plain port; with TLS, `tls_` holds them
  std::size_t sent_ = 0;  ///< of `output_`
  std::string input_;
  std::size_t awaited_ = 0;  ///< length of the request whose body is arriving; else 0
  std::optional<BodyRoom::Share> share_;
  bool is_finished_ = false;
};

}  // namespace millrace::server
