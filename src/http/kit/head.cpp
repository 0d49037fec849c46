#include "http/kit/head.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/node_report.hpp"
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
bool is_length(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), is_digit);
}

/// Of RFC 3986, section 3.2.2.
bool is_host_name_char(char c) {
  constexpr std::string_view kSigns = "-._~!$&'()*+,;=%";
  return is_digit(c) || is_letter(c) || kSigns.find(c) != kSigns.npos;
}

bool is_v6_char(char c) {
  return is_hex_digit(c) || c == ':' || c == '.';
}

/// A host, maybe with a port, or nothing, as where a target names no host (RFC 9110, section 7.2).
/// Of anything else, other readers take one part or another for the name.
bool is_host(std::string_view value) {
  if (value.empty()) return true;
  const bool is_v6 = value.starts_with('[');
  if (is_v6) value.remove_prefix(1);
  const std::size_t end = value.find(is_v6 ? ']' : ':');
  if (is_v6 && end == value.npos) return false;
  const std::string_view name = value.substr(0, end);
  value.remove_prefix(name.size() + (is_v6 ? 1 : 0));
  if (is_v6 && std::count(name.begin(), name.end(), ':') < 2) return false;
  if (name.empty() || has_broken_escape(name)) return false;
  if (!std::all_of(name.begin(), name.end(), is_v6 ? is_v6_char : is_host_name_char)) return false;
  if (value.empty()) return true;
  return value.front() == ':' && std::all_of(value.begin() + 1, value.end(), is_digit);
}

/// A header on which the answer depends, and that is no list. A proxy may believe the first and we
/// the last, and the two see different requests.
bool is_single(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "authorization", "content-encoding", "content-length",    "content-type", "host",
      "origin",        "sec-fetch-site",   "transfer-encoding", "x-instance",   "x-requested-with",
      "x-script-name", kReportHeader,      kSignatureHeader};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
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
         (line.ends_with(" HTTP/1.1") || line.ends_with(" HTTP/1.0"));
}

/// Of a good first line.
std::string_view target_of(std::string_view line) {
  const std::size_t begin = line.find(' ') + 1;
  return line.substr(begin, std::max(line.rfind(' '), begin) - begin);
}

/// The first line of the head, which loses it.
std::string_view take_head_line(std::string_view& head) {
  const std::string_view line = head.substr(0, std::min(head.find(kLineEnd), head.size()));
  head.remove_prefix(std::min(line.size() + kLineEnd.size(), head.size()));
  return line;
}

/// As browsers do it: a % without two digits after it stays.
std::string decoded(std::string_view text, bool plus_is_blank) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = std::min<std::size_t>(text.front() == '%' ? 3 : 1, text.size());
    const auto character = percent_decoded(text.substr(0, bytes));
    out += plus_is_blank && text.front() == '+' ? " "
           : character                          ? *character
                                                : std::string(1, text.front());
    text.remove_prefix(character ? bytes : 1);
  }
  return out;
}

/// Whether a list such as that of `Connection` names the word, and not with the weight 0.
bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::string_view each = take_until(list, ',');
    const std::size_t end = std::min(each.find(';'), each.size());
    const std::size_t weight = each.find("q=", end);
    const bool is_unwanted =
        weight != each.npos && each.find_first_not_of("0. ", weight + 2) == each.npos;
    if (equals_ignoring_case(trimmed(each.substr(0, end)), word)) return !is_unwanted;
  }
  return false;
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
    const std::string_view segment = take_until(path, '/');
    if (segment.empty() || segment == "." || segment == "..") return true;
  }
  return false;
}

std::optional<Problem> find_ambiguity(std::string_view head) {
  std::set<std::string> names;
  const std::string_view first = take_head_line(head);
  if (!is_request_line(first)) return Problem{"the request line is malformed"};
  while (!head.empty()) {
    const std::string_view line = take_head_line(head);
    if (line.empty()) break;
    const std::string name = header_name(line);
    if (name.empty()) return Problem{"the head has a line that is not a header"};
    const std::string_view value = trimmed(line.substr(line.find(':') + 1));
    if (name == "content-length" && !is_length(value)) {
      return Problem{"Content-Length is not a number"};
    }
    if (name == "host" && !is_host(value)) {
      return Problem{"Host is not the name or address of a host, with or without a port"};
    }
    if (!names.insert(name).second && is_single(name)) {
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

std::optional<Response> refuse_head(std::string_view head) {
  if (head.size() > kHeaderBytesMax) {
    return refuse(431, concat("the head is longer than ", kHeaderBytesMax, " bytes"));
  }
  std::string_view rest = head;
  if (target_of(take_head_line(rest)).size() > kTargetBytesMax) {
    return refuse(414, concat("the address is longer than ", kTargetBytesMax, " bytes"));
  }
  while (!rest.empty()) {
    if (take_head_line(rest).size() + kLineEnd.size() > kHeaderLineBytesMax) {
      return refuse(431,
                    concat("a line of the head is longer than ", kHeaderLineBytesMax, " bytes"));
    }
  }
  if (is_of_other_version(head)) return refuse(505, "this server speaks HTTP/1.0 and HTTP/1.1");
  const auto ambiguity = find_ambiguity(head);
  return ambiguity ? std::optional(refuse(400, ambiguity->text)) : std::nullopt;
}

void read_query(std::string_view query, std::multimap<std::string, std::string>& params) {
  while (!query.empty()) {
    std::string_view pair = take_until(query, '&');
    const std::string name = decoded(take_until(pair, '='), true);
    const std::string value = decoded(pair, true);
    const auto [first, last] = params.equal_range(name);
    const bool is_known =
        std::any_of(first, last, [&value](const auto& each) { return each.second == value; });
    if (!name.empty() && !is_known) params.emplace(name, value);
  }
}

Head read_head(std::string_view head) {
  const std::string_view line = take_head_line(head);
  const std::string_view target = target_of(line);
  const std::string_view path = target.substr(0, std::min(target.find('?'), target.size()));
  Head read{.request = {}, .has_odd_path = has_odd_segment(target)};
  Request& request = read.request;
  request.method = line.substr(0, line.find(' '));
  const bool is_visible =
      std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < 0x7F; });
  request.target = is_visible ? target : "/";
  request.path = decoded(path, false);
  request.has_broken_escape = has_broken_escape(target);
  read_query(target.substr(std::min(path.size() + 1, target.size())), request.params);
  while (!head.empty()) {
    const std::string_view header = take_head_line(head);
    if (header.empty()) break;
    const std::size_t name_end = header.find(':');
    std::string name = lower_case(header.substr(0, name_end));
    const auto [place, is_new] =
        request.headers.emplace(std::move(name), trimmed(header.substr(name_end + 1)));
    if (!is_new) request.repeated.insert(place->first);
  }
  const std::string_view connection = request.header("connection");
  read.stays_open =
      line.ends_with("1.1") ? !has_word(connection, "close") : has_word(connection, "keep-alive");
  read.takes_gzip = has_word(request.header("accept-encoding"), "gzip");
  request.prefix = clean_prefix(request.header("x-script-name"));
  if (!request.prefix.empty() && request.path.starts_with(request.prefix + "/")) {
    request.path.erase(0, request.prefix.size());
  }
  return read;
}

}  // namespace millrace::http
