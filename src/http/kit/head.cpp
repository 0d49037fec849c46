#include "http/kit/head.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "base/text.hpp"
#include "http/kit/text.hpp"

namespace millrace::http {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

bool is_token_char(char c) {
  constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
  return is_digit(c) || is_letter(c) || kSigns.find(c) != kSigns.npos;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7F;
}

/// The name in lower case; empty: the line is no header. A line that continues the one before it
/// has no name, and neither has one with a space before its colon.
std::string header_name(std::string_view line) {
  const std::string_view name = line.substr(0, std::min(line.find(':'), line.size()));
  const bool is_good = name.size() < line.size() &&
                       std::all_of(name.begin(), name.end(), is_token_char) &&
                       std::none_of(line.begin(), line.end(), is_control);
  return is_good ? lower_case(name) : std::string();
}

/// What a Content-Length says (RFC 9112, section 6.3). Other readers take a sign, a list or nothing
/// for some length or other.
bool is_length(std::string_view line) {
  const std::string_view value = trimmed(line.substr(line.find(':') + 1));
  return !value.empty() && std::all_of(value.begin(), value.end(), is_digit);
}

/// In no part of a target (RFC 3986, section 2). Those that browsers send all the same are left
/// out.
bool is_never_in_target(char c) {
  constexpr std::string_view kSigns = " \t\"<>#";
  return is_control(c) || static_cast<unsigned char>(c) >= 0x80 || kSigns.find(c) != kSigns.npos;
}

/// Method, target and version with one space between them (RFC 9112, section 3). Another reader may
/// end the target at a further space or a control character, and see another one. A target with a
/// host of its own, as a proxy gets it, could differ from the header that access rules look at.
bool is_request_line(std::string_view line) {
  const std::size_t method_end = line.find(' ');
  const std::size_t target_end = line.rfind(' ');
  if (method_end == line.npos || method_end == target_end) return false;
  const std::string_view method = line.substr(0, method_end);
  const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  return !method.empty() && std::all_of(method.begin(), method.end(), is_token_char) &&
         (target.starts_with('/') || target == "*") &&
         std::none_of(target.begin(), target.end(), is_never_in_target) &&
         line.substr(target_end + 1).starts_with("HTTP/");
}

}  // namespace

std::optional<Problem> find_ambiguity(std::string_view head) {
  std::set<std::string> names;
  const std::string_view first = head.substr(0, std::min(head.find(kLineEnd), head.size()));
  if (!is_request_line(first)) return Problem{"the request line is malformed"};
  head.remove_prefix(first.size());
  while (head.starts_with(kLineEnd)) {
    head.remove_prefix(kLineEnd.size());
    const std::string_view line = head.substr(0, std::min(head.find(kLineEnd), head.size()));
    head.remove_prefix(line.size());
    if (line.empty()) break;
    const std::string name = header_name(line);
    if (name.empty()) return Problem{"the head has a line that is no header"};
    if (name == "content-length" && !is_length(line)) {
      return Problem{"Content-Length is not a number"};
    }
    const bool is_single =
        name == "content-length" || name == "host" || name == "transfer-encoding";
    // A proxy may believe the first and we the last, and the two see different requests.
    if (!names.insert(name).second && is_single) {
      return Problem{concat("the head has two ", name, " headers")};
    }
  }
  if (first.ends_with("HTTP/1.1") && !names.contains("host")) {
    return Problem{"the head has no Host"};
  }
  // The classic way to smuggle a second request past a proxy.
  if (names.contains("content-length") && names.contains("transfer-encoding")) {
    return Problem{"the head has both a Content-Length and a Transfer-Encoding"};
  }
  return std::nullopt;
}

}  // namespace millrace::http
