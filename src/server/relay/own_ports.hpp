#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/net/peer.hpp"

namespace millrace::server {

/// Where this server listens, and so where it must not connect as a standby. The address that the
/// log has of the leader may lead here, or to another program of this machine, since a name or
/// 127.0.0.1 is another machine for each reader.
class OwnPorts {
 public:
  /// `descriptor` has its address. One that is no IP address is a unix socket.
  void add(std::string name, int descriptor);

  /// Whether what comes to the port of that name, which this server may not have, may be passed on
  /// to `to`. Never to this server. And to loopback only from loopback: else programs that are
  /// closed to other machines would be open to them.
  [[nodiscard]] bool may_reach(std::string_view name, const SocketName& to) const;

 private:
  struct Port {
    std::string name;
    std::optional<Place> place;  ///< nullopt: a unix socket
    [[nodiscard]] bool is_local() const { return !place || place->is_loopback(); }
  };

  [[nodiscard]] bool is_here(const Place& to) const;

  std::vector<Port> ports_;
};

}  // namespace millrace::server
