#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "server/address.hpp"
#include "server/clock.hpp"
#include "server/logging.hpp"
#include "server/loop.hpp"

namespace millrace::server {

/// An open port: a TCP address or a unix socket.
class Listener {
 public:
  struct Parts {
    Loop& loop;
    Clock& clock;
    const Log& log;
  };

  /// Given each new client, in the loop's thread.
  using Accept = std::function<void(Socket)>;

  /// Takes the address for us; clients are refused until `listen`. The file of a unix socket on
  /// which nobody answers any more is replaced.
  [[nodiscard]] static Outcome<std::unique_ptr<Listener>> bind(const Address& address, Parts parts);

  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] Outcome<Done> listen();

  /// Accepts clients until `close`. To be run once, after `listen`; when it returns, nothing of the
  /// listener is in use any more.
  Task<void> accept_loop(Accept accept);

  /// Accepts nobody any more; a unix socket's file is removed.
  void close();

  /// The address as it came out: with the port that the system chose.
  [[nodiscard]] const Address& address() const { return address_; }

  /// True when only programs on this machine can connect.
  [[nodiscard]] bool is_local() const { return is_local_; }

 private:
  /// Tells our socket file from one that somebody else put in its place since.
  struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    bool operator==(const FileIdentity&) const = default;
  };
  static std::optional<FileIdentity> identify(const std::string& path);

  Listener(const Address& address, Parts parts);

  Outcome<Done> bind_tcp();
  Outcome<Done> bind_unix();
  Outcome<Done> bind_endpoint(const Endpoint& endpoint);
  void remove_file();
  [[nodiscard]] Problem problem(const std::string& why) const;

  Address address_;
  Parts parts_;
  Acceptor acceptor_;
  Timer pause_;
  LogLimit failures_;
  bool is_local_ = true;
  std::optional<FileIdentity> file_;  ///< the socket file that we made
};

/// How many clients may wait to be accepted.
inline constexpr int kBacklog = 1024;

/// How long nobody is accepted after the system had no room for another client.
inline constexpr auto kAcceptPause = std::chrono::milliseconds(100);

}  // namespace millrace::server
