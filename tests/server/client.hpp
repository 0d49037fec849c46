#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "server/net/address.hpp"

namespace millrace::server {

/// A client program's end of a connection, over a real socket. What it waits for must come within
/// `kPatience`, which only a failing test waits out.
class SocketClient {
 public:
  static constexpr auto kPatience = std::chrono::seconds(10);

  explicit SocketClient(const Address& address);
  ~SocketClient();
  SocketClient(SocketClient&& other) noexcept;
  SocketClient(const SocketClient&) = delete;
  SocketClient& operator=(const SocketClient&) = delete;

  /// Sends everything, as soon as the server takes it.
  void send(std::string_view bytes);

  /// Sends what the server takes without waiting longer than `patience`; answers how much that was.
  std::size_t send_what_fits(std::string_view bytes, std::chrono::milliseconds patience);

  /// Waits for so many bytes.
  std::string read(std::size_t size);

  /// What is there already.
  std::string read_available();

  /// Something, as soon as it is there; empty when the server has closed or nothing came.
  std::string read_some(std::chrono::milliseconds patience = kPatience);

  /// Sends, and waits for as many bytes as the expected reply has.
  std::string ask(std::string_view bytes, std::string_view expected);

  /// True when the server has closed and everything before was read.
  bool is_closed_by_server();

  void half_close();

  /// Ends the connection with a reset.
  void reset();

 private:
  bool wait(short events, std::chrono::milliseconds patience) const;

  int socket_;
  bool has_seen_end_ = false;
};

}  // namespace millrace::server
