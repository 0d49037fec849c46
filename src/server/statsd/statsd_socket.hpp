#pragma once

#include <string_view>

#include "base/result.hpp"
#include "server/net/address.hpp"

namespace millrace::server {

/// A UDP socket to one host.
class StatsdSocket {
 public:
  StatsdSocket() = default;
  ~StatsdSocket() { close(); }
  StatsdSocket(const StatsdSocket&) = delete;
  StatsdSocket& operator=(const StatsdSocket&) = delete;

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

  /// May wait for a name server. A problem leaves it as it is.
  Outcome<Done> open(const Address& address);

  /// Does not wait: where the system has no room, the datagram is lost. An error may be that of an
  /// earlier datagram, and then this one was not tried. 0: none.
  [[nodiscard]] int send(std::string_view datagram) const;

 private:
  void close();

  int descriptor_ = -1;
};

}  // namespace millrace::server
