#include "http/kit/session_cookie.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace millrace::http {
namespace {

/// Empty: the standard one, or none that makes sense.
std::string_view port_in(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon == host.npos) return {};
  const std::string_view port = host.substr(colon + 1);
  constexpr std::size_t kDigitsMax = 5;
  const bool is_port = port.size() <= kDigitsMax && std::ranges::all_of(port, is_digit);
  return is_port ? port : std::string_view();
}

/// All ports of a host share their cookies, so each has a name of its own. With `__Host-` in front,
/// browsers take it from that very host and by TLS alone.
std::string name_of_cookie(const Request& request) {
  const bool is_bound = request.is_encrypted && request.prefix.empty();
  return std::string(is_bound ? "__Host-" : "") + "millrace" +
         std::string(port_in(request.header("host")));
}

}  // namespace

bool is_session_id(std::string_view text) {
  return text.size() == kSessionIdBytes && std::ranges::all_of(text, [](char c) {
           return is_letter(c) || is_digit(c) || c == '-' || c == '_';
         });
}

std::vector<std::string_view> session_ids(const Request& request) {
  const std::string name = name_of_cookie(request);
  std::string_view rest = request.header("cookie");
  std::vector<std::string_view> ids;
  while (!rest.empty() && ids.size() < kSessionIdsMax) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view pair = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t name_end = pair.find('=');
    if (name_end == pair.npos || pair.substr(0, name_end) != name) continue;
    if (is_session_id(pair.substr(name_end + 1))) ids.push_back(pair.substr(name_end + 1));
  }
  return ids;
}

std::string set_session_cookie(const Request& request, std::string_view id) {
  return name_of_cookie(request) + "=" + std::string(id) +
         "; Path=" + (request.prefix.empty() ? "/" : request.prefix) +
         "; HttpOnly; SameSite=Strict" + (request.is_encrypted ? "; Secure" : "") +
         (id.empty() ? "; Max-Age=0" : "");
}

}  // namespace millrace::http
