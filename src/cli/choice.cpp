#include "cli/choice.hpp"

#include <algorithm>

#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace::cli {
namespace {

constexpr const char* kForm = "must be HOST:PORT, http://HOST:PORT or https://HOST:PORT";

Outcome<Done> read_user(std::string_view text, ServerUrl& url) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto user = percent_decoded(text.substr(0, colon));
  const auto password = percent_decoded(text.substr(std::min(colon + 1, text.size())));
  if (!user || !password) return Problem{"has a broken % escape in its user or password"};
  url.user = *user;
  url.password = *password;
  return Done{};
}

Outcome<Done> read_port(std::string_view text, ServerUrl& url) {
  const auto port = parse_number<std::uint16_t>(text);
  if (port.value_or(0) == 0) return Problem{"must have a port from 1 to 65535"};
  url.port = *port;
  return Done{};
}

bool is_host(std::string_view text, bool is_in_brackets) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    const bool is_of_name = is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
    return is_of_name || (is_in_brackets && (c == ':' || c == '%'));
  });
}

/// What needs no escape there, and escapes themselves; `@` is one, since it ends a user's name.
bool is_of_path(char c) {
  constexpr std::string_view kOthers = "/-._~%!$&'()*+,;=:";
  return is_letter(c) || is_digit(c) || kOthers.find(c) != kOthers.npos;
}

}  // namespace

std::string ServerUrl::shown() const {
  const bool is_ipv6 = host.find(':') != host.npos;
  return std::string(is_https ? "https://" : "http://") + (is_ipv6 ? "[" + host + "]" : host) +
         ":" + std::to_string(port) + path;
}

Outcome<ServerUrl> parse_server_url(std::string_view text) {
  ServerUrl url;
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kHttps = "https://";
  url.is_https = text.starts_with(kHttps);
  const bool has_scheme = url.is_https || text.starts_with(kHttp);
  if (has_scheme) {
    text.remove_prefix(url.is_https ? kHttps.size() : kHttp.size());
    url.port = url.is_https ? 443 : 80;
  }
  // A password may have a slash in it, so the user ends first.
  if (const std::size_t at = text.rfind('@'); at != text.npos) {
    if (const auto read = read_user(text.substr(0, at), url); !read) return read.error();
    text.remove_prefix(at + 1);
  }
  const std::size_t slash = std::min(text.find('/'), text.size());
  url.path = text.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  if (!std::ranges::all_of(url.path, is_of_path)) return Problem{kForm};
  text = text.substr(0, slash);
  const bool is_in_brackets = text.starts_with('[');
  const std::size_t end = is_in_brackets ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == text.npos) return Problem{kForm};
  url.host = text.substr(is_in_brackets ? 1 : 0, is_in_brackets ? end - 1 : end);
  if (!is_host(url.host, is_in_brackets)) return Problem{kForm};
  text.remove_prefix(end + (is_in_brackets ? 1 : 0));
  if (text.empty()) return url;
  if (!text.starts_with(':')) return Problem{kForm};
  if (const auto read = read_port(text.substr(1), url); !read) return read.error();
  return url;
}

}  // namespace millrace::cli
