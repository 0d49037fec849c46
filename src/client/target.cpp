#include "client/target.hpp"

#include <netdb.h>

#include <cstdint>

#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace::client {
namespace {

constexpr const char* kForm = "must be HOST:PORT, [IPV6]:PORT, tls://HOST:PORT or unix:PATH";

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string Target::text() const {
  if (is_unix) return "unix:" + host;
  const bool is_ipv6 = host.find(':') != host.npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Outcome<Target> parse_target(std::string_view text) {
  Target target;
  if (take_prefix(text, "unix:")) {
    if (text.empty()) return Problem{kForm};
    target.host = text;
    target.is_unix = true;
    return target;
  }
  target.is_tls = take_prefix(text, "tls://");
  if (!target.is_tls) take_prefix(text, "beanstalk://");
  if (text.ends_with('/')) text.remove_suffix(1);
  std::size_t host_end = text.find(':');
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == text.npos) return Problem{kForm};
    target.host = text.substr(1, close - 1);
    host_end = close + 1;
  } else {
    // Several colons are those of an IPv6 address, which then has no port.
    const bool is_ipv6 = text.find_first_not_of("0123456789abcdefABCDEF:.") == text.npos &&
                         host_end != text.rfind(':');
    if (is_ipv6) host_end = text.size();
    target.host = text.substr(0, host_end);
  }
  if (target.host.empty() || target.host.find_first_of("/@ ") != std::string::npos) {
    return Problem{kForm};
  }
  if (host_end >= text.size()) return target;
  if (text[host_end] != ':') return Problem{kForm};
  const auto port = parse_number<std::uint16_t>(text.substr(host_end + 1));
  if (port.value_or(0) == 0) return Problem{kForm};
  target.port = *port;
  return target;
}

bool is_known_host(const std::string& host) {
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

}  // namespace millrace::client
