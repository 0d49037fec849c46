#pragma once

#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace millrace::server {

/// What tells clients from elsewhere apart: the 4 bytes of an IPv4 address, also where it came to a
/// socket of IPv6 (::ffff:1.2.3.4); or the 8 of the network that an IPv6 address is in, since a
/// client that has one address there has all. All clients of a unix socket are one. For programs,
/// not people.
[[nodiscard]] std::string peer_of(const sockaddr* address);

/// The same for people: the address in numbers, without the port; or `unix socket`.
[[nodiscard]] std::string shown_address(const sockaddr* address);

/// The address of a socket, as the system has it.
struct SocketName {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

/// An IP address with a port, in one form for both families: an IPv4 address is the IPv6 address
/// that stands for it (`::ffff:127.0.0.1`).
struct Place {
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;

  auto operator<=>(const Place&) const = default;

  /// Only programs of this machine are there.
  [[nodiscard]] bool is_loopback() const;
  /// All addresses of this machine, for a socket that listens.
  [[nodiscard]] bool is_any() const;
};

/// Both ends of a connection. One alone does not name it: a system gives connections to several
/// places the same port.
struct Route {
  Place near;
  Place far;

  auto operator<=>(const Route&) const = default;
};

/// nullopt: it is no IP address.
[[nodiscard]] std::optional<Place> place_of(const sockaddr* name);

/// Of a socket, and of what it is connected to. nullopt: there is none.
[[nodiscard]] std::optional<Place> near_end(int descriptor);
[[nodiscard]] std::optional<Place> far_end(int descriptor);

/// The user whose process is at the far end of a unix socket. nullopt: it is none.
[[nodiscard]] std::optional<std::uint32_t> user_of_peer(int descriptor);

/// Whether the far end of this connection sends nothing more, or is gone: also before the last that
/// it has sent is read.
[[nodiscard]] bool has_ended(int descriptor);

/// Whether this connection is broken, or both of its directions have ended.
[[nodiscard]] bool is_broken(int descriptor);

/// Whether a network interface of this machine has the address. The port does not matter.
[[nodiscard]] bool is_of_this_machine(const Place& place);

}  // namespace millrace::server
