#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "server/net/address.hpp"
#include "server/net/bound_socket.hpp"
#include "server/net/loop.hpp"
#include "server/process/clock.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

/// An open port: a TCP address or a unix socket.
class Listener {
 public:
  struct Parts {
    Loop& loop;
    Clock& clock;
    const Log& log;
    std::function<bool()> has_room = {};  ///< for another client; empty: always
  };

  /// Given each new client, in the loop's thread.
  using Accept = std::function<void(Socket)>;

  /// Clients are refused until `listen`.
  Listener(BoundSocket socket, Parts parts);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] Outcome<Done> listen();

  /// Accepts clients until `close`. To be run once, after `listen`; when it returns, nothing of the
  /// listener is in use any more.
  Task<void> accept_loop(Accept accept);

  /// Accepts nobody any more; a unix socket's file is removed.
  void close();

  [[nodiscard]] const Address& address() const { return bound_.address(); }
  [[nodiscard]] int descriptor() { return acceptor_.native_handle(); }

 private:
  /// Leaves clients in the backlog for a while, and says why.
  Task<void> pause_accepting(std::string why);

  BoundSocket bound_;  ///< its descriptor has become the acceptor's
  Parts parts_;
  Acceptor acceptor_;
  Timer pause_;
  LogLimit failures_;
};

/// How many clients may wait to be accepted.
inline constexpr int kBacklog = 1024;

/// How long nobody is accepted after the system had no room for another client.
inline constexpr auto kAcceptPause = std::chrono::milliseconds(100);

}  // namespace millrace::server
