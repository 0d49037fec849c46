#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "server/tls.hpp"

namespace millrace::server {

/// One browser's socket, as the HTTP library reads and writes it: with a time for each request, and
/// with a number of bytes that a request may have. Used by one thread at a time.
class WebChannel final : public httplib::Stream {
 public:
  using Steady = std::chrono::steady_clock;

  /// The descriptor becomes ours. `tls`: null on a port without encryption.
  WebChannel(int descriptor, std::unique_ptr<TlsStream> tls);
  ~WebChannel() override;
  WebChannel(const WebChannel&) = delete;
  WebChannel& operator=(const WebChannel&) = delete;

  /// A part of a request begins: so many bytes of it may come, and reading and writing must be over
  /// by then.
  void begin(Steady::time_point until, std::size_t bytes_max);

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
  bool wait_for(short events) const;
  bool fill();
  bool send_all(std::string_view bytes);
  bool send_pending();

  int descriptor_;
  std::unique_ptr<TlsStream> tls_;
  std::string input_;
  std::size_t taken_ = 0;
  std::size_t allowed_ = 0;
  Steady::time_point until_{};
  bool is_finished_ = false;
};

}  // namespace millrace::server
