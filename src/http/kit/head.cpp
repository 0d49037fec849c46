#include "http/kit/head.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

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
/// host of its own was made a path by `plain_head`.
bool is_request_line(std::string_view line) {
  const std::size_t method_end = line.find(' ');
  const std::size_t target_end = line.rfind(' ');
  if (method_end == line.npos || method_end == target_end) return false;
  const std::string_view method = line.substr(0, method_end);
  const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  // About the whole server there is only one question.
  const bool is_of_server = target == "*" && method == "OPTIONS";
  return !method.empty() && std::all_of(method.begin(), method.end(), is_token_char) &&
         (target.starts_with('/') || is_of_server) &&
         std::none_of(target.begin(), target.end(), is_never_in_target) &&
         line.substr(target_end + 1).starts_with("HTTP/");
}

/// How long the line end is that `text` begins with; 0: it begins with none.
std::size_t line_end_bytes(std::string_view text) {
  return text.starts_with(kLineEnd) ? 2 : text.starts_with('\n') ? 1 : 0;
}

std::string_view without_empty_line(std::string_view input) {
  return input.substr(line_end_bytes(input));
}

/// Whether the first line ends with LF alone, so that the others may.
bool has_bare_lines(std::string_view head) {
  const std::size_t end = head.find('\n');
  return end != head.npos && (end == 0 || head[end - 1] != '\r');
}

/// Where in the head the digit of the major version is, such as the first of `HTTP/1.1`; npos: the
/// request line ends with no version.
std::size_t find_version(std::string_view head) {
  constexpr std::string_view kForm = " HTTP/0.0";
  constexpr std::size_t kMajorAt = 6;
  const std::string_view line = head.substr(0, std::min(head.find(kLineEnd), head.size()));
  if (line.size() < kForm.size()) return line.npos;
  const std::size_t begin = line.size() - kForm.size();
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const char c = line[begin + i];
    if (kForm[i] == '0' ? !is_digit(c) : c != kForm[i]) return line.npos;
  }
  return begin + kMajorAt;
}

/// A client of a later HTTP/1 understands answers of 1.1 (RFC 9110, section 2.5).
void settle_version(std::string& head) {
  const std::size_t major = find_version(head);
  if (major != head.npos && head[major] == '1' && head[major + 2] > '1') head[major + 2] = '1';
}

/// Of a target that names a host.
struct Authority {
  std::string_view host;  ///< with its port
  std::string path;       ///< with the query
};

/// nullopt: it names none, or with a user, which nobody may send.
std::optional<Authority> authority_in(std::string_view target) {
  constexpr std::string_view kSchemes[] = {"http://", "https://"};
  const auto scheme =
      std::find_if(std::begin(kSchemes), std::end(kSchemes), [target](std::string_view each) {
        return equals_ignoring_case(target.substr(0, each.size()), each);
      });
  if (scheme == std::end(kSchemes)) return std::nullopt;
  target.remove_prefix(scheme->size());
  const std::size_t end = std::min(target.find_first_of("/?"), target.size());
  const std::string_view host = target.substr(0, end);
  if (host.empty() || host.find('@') != host.npos) return std::nullopt;
  const std::string_view path = target.substr(end);
  return Authority{.host = host, .path = concat(path.starts_with('/') ? "" : "/", path)};
}

/// The first line with the path alone, and the first `Host` with that host.
std::string name_host(const std::string& head) {
  const std::string_view line = std::string_view(head).substr(0, head.find(kLineEnd));
  const std::size_t begin = line.find(' ') + 1;
  const std::size_t end = line.rfind(' ');
  if (begin == 0 || begin >= end) return head;
  const auto authority = authority_in(line.substr(begin, end - begin));
  if (!authority) return head;
  std::string named = concat(line.substr(0, begin), authority->path, line.substr(end), kLineEnd,
                             "Host: ", authority->host);
  bool has_host = false;
  for (std::string_view rest = std::string_view(head).substr(line.size()); !rest.empty();) {
    const std::size_t bytes = std::min(rest.find(kLineEnd, 1), rest.size());
    const std::string_view each = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    const bool is_host = equals_ignoring_case(each.substr(0, 7), "\r\nhost:");
    // A second one is refused later.
    if (!is_host || std::exchange(has_host, true)) named += each;
  }
  return named;
}

}  // namespace

std::optional<std::size_t> head_bytes(std::string_view input) {
  const std::string_view head = without_empty_line(input);
  const std::size_t begin = input.size() - head.size();
  if (const std::size_t bytes = line_end_bytes(head)) return begin + bytes;
  for (std::size_t at = head.find('\n'); at != head.npos; at = head.find('\n', at + 1)) {
    const std::size_t bytes = line_end_bytes(head.substr(at + 1));
    if (bytes > 0) return begin + at + 1 + bytes;
  }
  return std::nullopt;
}

std::string plain_head(std::string_view head) {
  head = without_empty_line(head);
  std::string plain;
  if (!has_bare_lines(head)) {
    plain = head;
    // The parser finds no end in a bare LF.
    if (plain.ends_with("\n\n")) plain += kLineEnd;
  } else {
    for (const char c : head) {
      if (c == '\n' && !plain.ends_with('\r')) plain += '\r';
      plain += c;
    }
  }
  settle_version(plain);
  return name_host(plain);
}

bool is_of_other_version(std::string_view head) {
  const std::size_t major = find_version(head);
  return major != head.npos && head[major] != '1';
}

bool has_odd_segment(std::string_view target) {
  std::string_view path = target.substr(0, std::min(target.find_first_of("?#"), target.size()));
  if (path.starts_with('/')) path.remove_prefix(1);
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, std::min(path.find('/'), path.size()));
    if (segment.empty() || segment == "." || segment == "..") return true;
    path.remove_prefix(std::min(segment.size() + 1, path.size()));
  }
  return false;
}

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
