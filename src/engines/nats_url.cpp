#include "engines/nats_url.hpp"

#include <algorithm>
#include <optional>

#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace::engines {
namespace {

constexpr std::size_t kStreamNameMax = 64;
constexpr std::size_t kServersMax = 32;
constexpr int kReplicasMax = 5;  // more are refused by NATS itself

bool is_stream_name(std::string_view name) {
  return !name.empty() && name.size() <= kStreamNameMax &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_'; });
}

/// A % without two digits after it stays.
std::string decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto byte = text.front() == '%' ? percent_decoded(text.substr(0, 3)) : std::nullopt;
    out += byte.value_or(std::string(1, text.front()));
    text.remove_prefix(byte ? 3 : 1);
  }
  return out;
}

void read_user(std::string_view text, NatsUrl& url) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    url.token = decoded(text);
    return;
  }
  url.user = decoded(text.substr(0, colon));
  url.password = decoded(text.substr(colon + 1));
}

/// The server's own URL, or empty when the text is no `host[:port]`.
std::string server_url(std::string_view host_and_port, bool uses_tls) {
  const std::size_t bracket = host_and_port.rfind(']');
  const std::size_t colon =
      host_and_port.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view host = host_and_port.substr(0, colon);
  std::string_view port = "4222";
  if (colon != std::string_view::npos) port = host_and_port.substr(colon + 1);
  const bool is_host = !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view(".-_[]:").find(c) != std::string_view::npos;
  });
  if (!is_host || parse_number<std::uint16_t>(port).value_or(0) == 0) return {};
  return (uses_tls ? "tls://" : "nats://") + std::string(host) + ":" + std::string(port);
}

std::optional<Problem> read_parameters(std::string_view text, NatsUrl& url) {
  while (!text.empty()) {
    std::string_view value = take_until(text, '&');
    const std::string_view name = take_until(value, '=');
    if (name == "replicas") {
      url.replicas = parse_number<int>(value).value_or(0);
      if (url.replicas >= 1 && url.replicas <= kReplicasMax) continue;
      return Problem{"the URL of a log in NATS: replicas is a number from 1 to 5"};
    }
    if (name != "synced") {
      // Whatever else is there may be secret.
      const std::string shown = is_stream_name(name) ? " " + std::string(name) : "";
      return Problem{"the URL of a log in NATS has the unknown parameter" + shown +
                     ": it may have replicas=N and synced=yes"};
    }
    if (value != "yes") return Problem{"the URL of a log in NATS: synced may only be yes"};
    url.is_declared_synced = true;
  }
  return std::nullopt;
}

}  // namespace

Outcome<NatsUrl> parse_nats_url(std::string_view text) {
  NatsUrl url;
  const std::size_t scheme_end = text.find("://");
  const std::string_view scheme = text.substr(0, scheme_end);
  if (scheme_end == std::string_view::npos || (scheme != "nats" && scheme != "tls")) {
    return Problem{"the URL of a log in NATS begins with nats:// or tls://"};
  }
  url.uses_tls = scheme == "tls";
  text.remove_prefix(scheme_end + 3);
  // A password may itself contain `@` or `/`.
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    read_user(text.substr(0, at), url);
    text.remove_prefix(at + 1);
  }
  std::string_view path = take_until(text, '?');
  std::string_view hosts = take_until(path, '/');
  do {
    const std::string server = server_url(take_until(hosts, ','), url.uses_tls);
    if (server.empty() || url.servers.size() == kServersMax) {
      return Problem{"the URL of a log in NATS names its servers as host[:port], up to 32"};
    }
    url.servers.push_back(server);
  } while (!hosts.empty());
  if (!is_stream_name(path)) {
    return Problem{"the URL of a log in NATS ends with /STREAM: up to 64 letters, digits, - and _"};
  }
  url.stream = std::string(path);
  if (std::optional<Problem> problem = read_parameters(text, url)) return *problem;
  return url;
}

}  // namespace millrace::engines
