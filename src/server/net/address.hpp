#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::server {

/// Where a port is opened: `host:port`, `[IPv6]:port`, `:port` or `*:port` (every address of the
/// machine, IPv6 and IPv4), or `unix:PATH`.
struct Address {
  std::string host;        ///< a name or a number, without brackets; empty: every address, or unix
  std::uint16_t port = 0;  ///< 0: the system chooses one
  std::string path;        ///< of a unix address, else empty

  [[nodiscard]] bool is_unix() const { return !path.empty(); }
  [[nodiscard]] bool is_everywhere() const { return host.empty() && !is_unix(); }
  [[nodiscard]] std::string text() const;
  bool operator==(const Address&) const = default;
};

/// Whether both are one address that only one port can have.
[[nodiscard]] bool are_same_place(const std::optional<Address>& a, const std::optional<Address>& b);

/// The longest path that a unix socket can have.
inline constexpr std::string_view kUnixPrefix = "unix:";
inline constexpr std::size_t kUnixPathBytesMax = 107;

[[nodiscard]] Outcome<Address> parse_address(std::string_view text);

/// A host alone, where an IPv6 address may have brackets.
[[nodiscard]] std::string_view without_brackets(std::string_view host);

}  // namespace millrace::server
