#include "faktory/json/array_cutter.hpp"

#include "base/text.hpp"
#include "faktory/json/text.hpp"

namespace millrace::faktory {
namespace {

using Cut = Outcome<std::optional<std::string_view>>;

constexpr const char* kUnexpectedEnd = "unexpected end of JSON input";

/// The place after the string whose first byte is at `begin`. Its end is the first quote with no
/// backslash before it, or an even number of them.
std::size_t string_end(std::string_view text, std::size_t begin) {
  for (std::size_t at = begin;; ++at) {
    at = text.find('"', at);
    if (at == std::string_view::npos) return text.size();
    std::size_t escape = at;
    while (escape > begin && text[escape - 1] == '\\') --escape;
    if ((at - escape) % 2 == 0) return at + 1;
  }
}

}  // namespace

ArrayCutter::ArrayCutter(std::string_view json) : rest_(trimmed(json)) {
  // Go reads null into an empty list.
  if (rest_ != "null") return;
  is_over_ = true;
  rest_ = {};
}

Cut ArrayCutter::next() {
  if (is_over_) return end();
  if (!is_open_) return open();
  const std::size_t size = element_end();
  if (size == rest_.size()) return Problem{kUnexpectedEnd};
  // Everything else that is wrong with an element is found when it is read.
  if (rest_[size] == '}') return Problem{"a bracket that was not opened"};
  const std::string_view element = rest_.substr(0, size);
  is_over_ = rest_[size] == ']';
  rest_.remove_prefix(size + 1);
  return std::optional(element);
}

Cut ArrayCutter::open() {
  if (rest_.empty()) return Problem{kUnexpectedEnd};
  if (!rest_.starts_with('[')) return Problem{"jobs must be an array"};
  is_open_ = true;
  rest_ = trimmed(rest_.substr(1));
  if (!rest_.starts_with(']')) return next();
  is_over_ = true;
  rest_.remove_prefix(1);
  return end();
}

Cut ArrayCutter::end() const {
  if (!rest_.empty()) return Problem{"invalid character after top-level value"};
  return std::optional<std::string_view>();
}

/// How long the element is: up to the comma or bracket after it.
std::size_t ArrayCutter::element_end() const {
  std::size_t depth = 0;
  std::size_t at = 0;
  while (at < rest_.size()) {
    const char byte = rest_[at];
    const bool closes = byte == ']' || byte == '}';
    if (depth == 0 && (closes || byte == ',')) return at;
    if (byte == '[' || byte == '{') ++depth;
    if (closes) --depth;
    at = byte == '"' ? string_end(rest_, at + 1) : at + 1;
  }
  return at;
}

}  // namespace millrace::faktory
