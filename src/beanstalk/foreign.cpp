#include "beanstalk/foreign.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace millrace::beanstalk {
namespace {

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/// `GET /path`, `OPTIONS *`, and what is sent to a proxy: `POST http://host/`, or with any target
/// `CONNECT host:443 HTTP/1.1`. Blanks in any number and kind, since some readers take them.
bool is_request_line(std::string_view line) {
  line = line.substr(0, line.find('\n'));
  const auto method_end = std::find_if_not(line.begin(), line.end(), is_upper);
  const auto target = std::find_if_not(method_end, line.end(), is_blank);
  if (method_end == line.begin() || target == method_end) return false;
  const std::string_view rest(target, line.end());
  return rest.starts_with('/') || rest.starts_with('*') || rest.starts_with("http") ||
         rest.find("HTTP/") != rest.npos;
}

}  // namespace

bool is_foreign(std::string_view line) {
  // A handshake record of TLS, any version (RFC 8446, section 5.1).
  if (line.starts_with("\x16\x03")) return true;
  constexpr std::string_view kHost = "host:";
  return is_request_line(line) || lower_case(line.substr(0, kHost.size())) == kHost;
}

}  // namespace millrace::beanstalk
