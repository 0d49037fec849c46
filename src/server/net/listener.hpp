#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "server/net/address.hpp"
#include "server/net/bound_socket.hpp"
#include "server/net/poller.hpp"
#include "server/process/clock.hpp"
#include "server/process/logging.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// An open port: a TCP address or a unix socket.
class Listener final : private Deadline {
 public:
  struct Parts {
    Poller& poller;
    Ticker& ticker;
    Clock& clock;
    const Log& log;
    std::function<bool()> has_room = {};  ///< for another client; empty: always
  };

  /// A client that has connected.
  struct Accepted {
    int descriptor;    ///< becomes the receiver's
    std::string peer;  ///< see peer.hpp
    bool is_unix;
    bool is_encrypted = false;  ///< as the receiver knows: it speaks TLS
  };
  using Accept = std::function<void(Accepted)>;

  /// Clients are refused until `listen`.
  Listener(BoundSocket socket, Parts parts);
  ~Listener() override;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// From now on `accept` is given each new client, in the main loop's thread.
  [[nodiscard]] Outcome<Done> listen(Accept accept);

  /// Accepts nobody any more; a unix socket's file is removed.
  void close();

  [[nodiscard]] const Address& address() const { return bound_.address(); }
  [[nodiscard]] int descriptor() const { return bound_.descriptor(); }

 private:
  struct Door;

  void accept();
  void expire(Time now) override;
  [[nodiscard]] bool accept_one();
  void await_client();
  void pause(const std::string& why);

  BoundSocket bound_;
  Parts parts_;
  std::shared_ptr<Door> door_;  ///< shared with its handler, which may run later; null: closed
  Accept accept_;
  LogLimit failures_;
  bool is_pausing_ = false;
};

/// How many clients may wait to be accepted.
inline constexpr int kBacklog = 1024;

/// How many are accepted before the others get their turn.
inline constexpr int kAcceptsPerTurn = 16;

/// How long nobody is accepted after the system had no room for another client.
inline constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

}  // namespace millrace::server
