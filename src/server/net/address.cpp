#include "server/net/address.hpp"

#include "base/number.hpp"

namespace millrace::server {
namespace {

Outcome<Address> parse_unix(std::string_view path) {
  if (path.empty()) return Problem{"unix: needs a path"};
  if (path.size() > kUnixPathBytesMax) {
    return Problem{"the path of a unix socket has at most " + std::to_string(kUnixPathBytesMax) +
                   " bytes"};
  }
  return Address{.path = std::string(path)};
}

/// Takes the brackets off `[::1]`; a bare `::1` could be read in two ways and is refused.
std::optional<std::string> parse_host(std::string_view host) {
  if (host.empty() || host == "*") return "";
  const std::string_view bare = without_brackets(host);
  const bool has_brackets = bare.size() < host.size();
  if (!has_brackets && host.find(':') != std::string_view::npos) return std::nullopt;
  if (bare.empty()) return std::nullopt;
  return std::string(bare);
}

}  // namespace

Outcome<Address> parse_address(std::string_view text) {
  if (text.starts_with(kUnixPrefix)) return parse_unix(text.substr(kUnixPrefix.size()));
  const Problem malformed{"'" + std::string(text) +
                          "' is not HOST:PORT, :PORT, [IPV6]:PORT or unix:PATH"};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return malformed;
  const std::optional<std::string> host = parse_host(text.substr(0, colon));
  if (!host) return malformed;
  const std::string_view digits = text.substr(colon + 1);
  const std::optional<std::uint16_t> port = parse_number<std::uint16_t>(digits);
  if (!port) return Problem{"'" + std::string(digits) + "' is not a port: a number up to 65535"};
  return Address{.host = *host, .port = *port};
}

std::string_view without_brackets(std::string_view host) {
  const bool has_brackets = host.starts_with('[') && host.ends_with(']');
  return has_brackets ? host.substr(1, host.size() - 2) : host;
}

bool are_same_place(const std::optional<Address>& a, const std::optional<Address>& b) {
  return a && a == b && (a->is_unix() || a->port != 0);
}

std::string Address::text() const {
  if (is_unix()) return std::string(kUnixPrefix) + path;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace millrace::server
