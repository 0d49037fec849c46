// Heads of requests to the web port: in one that is let through, a reader who knows nothing of the
// rules finds one length, one host and no line that could be taken for two. What is taken for a
// token stands in its header, whole.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/head.hpp"

namespace {

using namespace millrace;
using namespace millrace::http;

void check(bool holds) {
  if (!holds) std::abort();
}

/// The lines up to the first that is empty.
std::vector<std::string_view> lines_of(std::string_view head) {
  std::vector<std::string_view> lines;
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    if (line.empty() && !lines.empty()) break;
    lines.push_back(line);
    head.remove_prefix(end == head.npos ? head.size() : end + 2);
  }
  return lines;
}

std::size_t count_named(const std::vector<std::string_view>& lines, std::string_view name) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string_view before = lines[i].substr(0, lines[i].find(':'));
    count += equals_ignoring_case(trimmed(before), name) ? 1 : 0;
  }
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check(head_bytes(input).value_or(0) <= size);
  const std::string head = plain_head(input);
  check(find_ambiguity(head) || plain_head(head) == head);
  if (find_ambiguity(head)) return 0;
  const auto lines = lines_of(head);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    check(lines[i].find_first_of(std::string_view("\r\n\0", 3)) == lines[i].npos);
    check(lines[i].find(':') != lines[i].npos && lines[i].find_first_of(": \t") != 0);
  }
  const std::size_t hosts = count_named(lines, "host");
  const std::size_t lengths = count_named(lines, "content-length");
  const std::size_t encodings = count_named(lines, "transfer-encoding");
  check(hosts <= 1 && lengths + encodings <= 1);
  check(hosts == 1 || lines.empty() || !lines[0].ends_with("HTTP/1.1"));
  if (refuse_head(head)) return 0;
  const Request request = read_head(head).request;
  check(lines[0].starts_with(request.method + " "));
  check(request.headers.count("host") == hosts && request.headers.size() < lines.size());
  for (const auto& [name, value] : request.headers) {
    check(lower_case(name) == name && trimmed(value) == value && count_named(lines, name) > 0);
  }
  const auto token = bearer_of(request);
  check(!token || count_named(lines, "authorization") == 1);
  if (!token || !is_token_text(*token)) return 0;
  check(token->size() == kTokenPrefix.size() + 43 && token->starts_with(kTokenPrefix));
  check(request.header("authorization").ends_with(*token));
  check(token->find_first_of(" \t\",;=") == token->npos);
  return 0;
}
