#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/net/tls.hpp"
#include "server/web/body_room.hpp"

namespace millrace::server {

/// The socket of one connection, in the form in which the HTTP library reads and writes. Input is
/// collected without waiting until a request is complete, and output that the socket does not take
/// stays in memory: so a slow client holds no thread. Each request has a limit of time and of
/// bytes. Used by one thread at a time.
class WebStream final : public httplib::Stream {
 public:
  using Steady = std::chrono::steady_clock;

  /// Owns the descriptor. `tls`: null on a port without encryption.
  WebStream(int descriptor, std::unique_ptr<TlsStream> tls);
  ~WebStream() override;
  WebStream(const WebStream&) = delete;
  WebStream& operator=(const WebStream&) = delete;

  /// Collects input that has arrived, until a request is complete. Does not wait. False: the
  /// connection has ended.
  [[nodiscard]] bool receive();

  /// True when the next request is complete: its head, or after `rewind` its head and body. Also
  /// true when its head is longer than the limit, so that it can be refused.
  [[nodiscard]] bool has_request() const;

  /// True when the next request has this method.
  [[nodiscard]] bool is_asked_by(std::string_view method) const;

  /// Marks the beginning of the next request. True: its head was read before (see `rewind`).
  bool mark();

  /// Goes back to the beginning of the request. It is read again, once `request_bytes` have
  /// arrived.
  void rewind(std::size_t request_bytes);
  /// Keeps the room of the body until `end_request`.
  void hold(BodyRoom::Share share) { share_ = std::move(share); }
  /// The request was answered: frees what it took.
  void end_request();
  [[nodiscard]] bool awaits_body() const { return awaited_ > 0; }

  /// The part of the request that was read so far.
  [[nodiscard]] std::string_view read_text() const {
    return std::string_view(input_).substr(request_at_, read_bytes());
  }

  /// The length of that part, and of the input after it.
  [[nodiscard]] std::size_t read_bytes() const { return taken_ - request_at_; }
  [[nodiscard]] std::size_t unread_bytes() const { return input_.size() - taken_; }

  /// While muted, `write` drops its bytes.
  void mute(bool is_muted) { is_muted_ = is_muted; }

  /// False: the request has used all bytes that `begin` allowed.
  [[nodiscard]] bool may_read() const { return allowed_ > 0; }

  /// Sets the limits of the next part of a request: it may have `bytes_max` bytes, and `read` waits
  /// until `until` at most.
  void begin(Steady::time_point until, std::size_t bytes_max);

  /// Sends as much output as the socket takes. Does not wait. False: the connection is broken.
  [[nodiscard]] bool flush();
  [[nodiscard]] bool has_output() const { return !output().empty(); }

  /// Ends the output; nothing may be written after it. Call `discard_input` for a while before the
  /// stream is destroyed: closing a socket with unread input would also discard the last answer.
  void finish();
  /// Drops input that has arrived. False: the client has closed the connection.
  [[nodiscard]] bool discard_input();

  /// True when a part of the next request has arrived.
  [[nodiscard]] bool has_input() const { return taken_ < input_.size(); }

  // ---- httplib::Stream; -1: the connection cannot be used any more ------------------------------
  [[nodiscard]] bool is_readable() const override;
  [[nodiscard]] bool is_writable() const override;
  ssize_t read(char* bytes, std::size_t size) override;
  ssize_t write(const char* bytes, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  [[nodiscard]] int socket() const override { return descriptor_; }

 private:
  enum class Arrival { kSome, kNone, kOver };

  [[nodiscard]] Arrival take_arrived();
  void make_head_plain();
  bool wait_for(short events) const;
  bool fill();
  [[nodiscard]] std::string_view output() const;

  int descriptor_;
  std::unique_ptr<TlsStream> tls_;
  std::string output_;    ///< unsent bytes on a plain port; with TLS, `tls_` holds them
  std::size_t sent_ = 0;  ///< of `output_`
  std::string input_;
  std::size_t taken_ = 0;       ///< of `input_`
  std::size_t request_at_ = 0;  ///< where in `input_` the request begins
  std::size_t awaited_ = 0;     ///< length of the request whose body is arriving; else 0
  std::optional<BodyRoom::Share> share_;
  bool is_muted_ = false;
  std::size_t allowed_ = 0;
  Steady::time_point until_{};
  bool is_finished_ = false;
};

}  // namespace millrace::server
