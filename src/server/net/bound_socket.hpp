#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "server/net/address.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

/// A socket that has its address, before or without anybody who accepts clients on it.
class BoundSocket {
 public:
  /// Takes the address for us; clients are refused until somebody listens. `:port` and `[::]:port`
  /// are one socket for IPv6 and IPv4; the former is for IPv4 alone where the kernel has no IPv6.
  /// The file of a unix socket on which nobody answers any more is replaced.
  [[nodiscard]] static Outcome<BoundSocket> bind(const Address& address, const Log& log);

  /// A socket that another program has opened for us and listens already (systemd's socket
  /// activation). It becomes ours, but a file of it does not.
  [[nodiscard]] static Outcome<BoundSocket> adopt(int descriptor);

  /// The same socket once more: clients can connect until all of them are closed. A file stays with
  /// this one.
  [[nodiscard]] Outcome<BoundSocket> duplicate() const;

  /// Clients are refused until somebody listens again. Those of a unix socket, and of one that
  /// another program has opened, are not: they wait.
  void refuse_clients() const;

  BoundSocket(BoundSocket&& other) noexcept;
  BoundSocket& operator=(BoundSocket&&) = delete;
  /// Closes what was not released, and removes the file of a unix socket that we made.
  ~BoundSocket();

  /// The address as it came out: with a host, and the port that the system chose.
  [[nodiscard]] const Address& address() const { return address_; }

  /// True when only programs on this machine can connect.
  [[nodiscard]] bool is_local() const { return is_local_; }

  /// AF_INET, AF_INET6 or AF_UNIX.
  [[nodiscard]] int family() const { return family_; }

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// A connection that it accepts from now on ends when nothing was heard of the client's machine
  /// for a minute: its system answers, whatever the program does. Of a unix socket it means
  /// nothing.
  void probe_idle_peers();

  /// Of a unix socket whose file we made: gives it to that user and group. For root.
  [[nodiscard]] Outcome<Done> give_file_to(std::uint32_t user_id, std::uint32_t group_id) const;

  /// Of such a socket: who may connect. To be called as its owner, and before somebody listens.
  [[nodiscard]] Outcome<Done> set_file_mode(std::uint32_t mode) const;

  /// The descriptor is the caller's from now on; the file stays ours.
  [[nodiscard]] int release();

  /// To be called before the descriptor is closed, so that nobody finds a file without a server.
  void remove_file();

 private:
  /// Tells our socket file from one that somebody else put in its place since.
  struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    bool operator==(const FileIdentity&) const = default;
  };
  static std::optional<FileIdentity> identify(const std::string& path);

  explicit BoundSocket(Address address) : address_(std::move(address)) {}

  Outcome<Done> bind_tcp();
  Outcome<Done> bind_unix(const Log& log);
  Outcome<Done> open_and_bind(const void* name, std::uint32_t size, int family);
  Outcome<Done> learn_address();
  [[nodiscard]] Problem problem(const std::string& why) const;

  Address address_;
  int descriptor_ = -1;
  int family_ = 0;
  bool is_local_ = true;
  bool is_adopted_ = false;
  std::optional<FileIdentity> file_;  ///< the socket file that we made
};

}  // namespace millrace::server
