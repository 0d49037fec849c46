#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "server/net/tls.hpp"

namespace millrace::server {

/// One browser's socket, as the HTTP library reads and writes it: with a time for each request, and
/// with a number of bytes that a request may have. What arrives is collected without waiting until
/// a request is whole, and what there is no room for waits in memory, so that who is slow with
/// either holds no thread. Used by one thread at a time.
class WebStream final : public httplib::Stream {
 public:
  using Steady = std::chrono::steady_clock;

  /// The descriptor becomes ours. `tls`: null on a port without encryption.
  WebStream(int descriptor, std::unique_ptr<TlsStream> tls);
  ~WebStream() override;
  WebStream(const WebStream&) = delete;
  WebStream& operator=(const WebStream&) = delete;

  /// Takes what has arrived, up to a whole request. Does not wait. False: none will come.
  [[nodiscard]] bool receive();

  /// True when the next request is there: its head, and its body once `rewind` has told of that; or
  /// so much of a head that it is refused.
  [[nodiscard]] bool has_request() const;

  /// True when that is asked by this method.
  [[nodiscard]] bool is_asked_by(std::string_view method) const;

  /// The next request is read from here on. True: its head was read before.
  bool mark();

  /// Back to where the request begins: it is read anew when so many bytes of it are there.
  void rewind(std::size_t request_bytes);
  [[nodiscard]] bool awaits_body() const { return awaited_ > 0; }

  /// What was read of the request so far.
  [[nodiscard]] std::string_view read_text() const {
    return std::string_view(input_).substr(request_at_, read_bytes());
  }

  /// Of the request, so far; and those that are there and were not read.
  [[nodiscard]] std::size_t read_bytes() const { return taken_ - request_at_; }
  [[nodiscard]] std::size_t unread_bytes() const { return input_.size() - taken_; }

  /// What is written is dropped.
  void mute(bool is_muted) { is_muted_ = is_muted; }

  /// False: the request has used up the bytes that `begin` allowed.
  [[nodiscard]] bool may_read() const { return allowed_ > 0; }

  /// A part of a request begins: so many bytes of it may come, and reading and writing must be over
  /// by then.
  void begin(Steady::time_point until, std::size_t bytes_max);

  /// Sends what there is room for. Does not wait. False: the connection is broken.
  [[nodiscard]] bool flush();
  [[nodiscard]] bool has_output() const { return !output().empty(); }

  /// Nothing more will be written. What still comes should be taken by `discard_input` for a while,
  /// before the channel ends: a socket that is closed with input in it drops its last answer too.
  void finish();
  /// False when no more will come.
  [[nodiscard]] bool discard_input();

  /// True when the next request has begun to arrive already.
  [[nodiscard]] bool has_input() const { return taken_ < input_.size(); }

  // ---- httplib::Stream: -1 means that the connection is of no use any more
  // ---------------------------------------------------------------------------
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
  bool wait_for(short events) const;
  bool fill();
  [[nodiscard]] std::string_view output() const;

  int descriptor_;
  std::unique_ptr<TlsStream> tls_;
  std::string output_;    ///< without encryption; else the stream has it
  std::size_t sent_ = 0;  ///< of `output_`
  std::string input_;
  std::size_t taken_ = 0;       ///< of `input_`
  std::size_t request_at_ = 0;  ///< where in `input_` the request begins
  std::size_t awaited_ = 0;     ///< the request's bytes when its body is to come; else zero
  bool is_muted_ = false;
  std::size_t allowed_ = 0;
  Steady::time_point until_{};
  bool is_finished_ = false;
};

}  // namespace millrace::server
