#include "faktory/json/checked_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace millrace::faktory {
namespace {

/// What follows a number, true, false or null.
bool ends_word(char byte) {
  return byte == ',' || byte == ']' || byte == '}' || is_json_space(byte);
}

}  // namespace

std::size_t CheckedJson::string_end() const {
  // Names and most values are short: for them a search by the library costs more than this.
  constexpr std::size_t kShort = 32;
  std::size_t at = 1;
  for (; at < std::min(kShort, rest_.size()); ++at) {
    if (rest_[at] == '"') return at + 1;
    if (rest_[at] == '\\') ++at;
  }
  // Most strings have no escapes: then their end is the next quote.
  const std::size_t quote = at < rest_.size() ? rest_.find('"', at) : std::string_view::npos;
  if (quote == std::string_view::npos) return rest_.size();
  const std::size_t escape = rest_.substr(at, quote - at).find('\\');
  if (escape == std::string_view::npos) return quote + 1;
  for (at += escape; at < rest_.size(); ++at) {
    if (rest_[at] == '"') return at + 1;
    if (rest_[at] == '\\') ++at;
  }
  return rest_.size();
}

/// Brackets in strings do not count.
std::size_t CheckedJson::container_end() const {
  std::size_t depth = 0;
  for (std::size_t at = 0; at < rest_.size(); ++at) {
    const char byte = rest_[at];
    if (byte == '"') {
      CheckedJson inner(rest_.substr(at));
      at += inner.string_end() - 1;
    } else if (byte == '[' || byte == '{') {
      ++depth;
    } else if ((byte == ']' || byte == '}') && --depth == 0) {
      return at + 1;
    }
  }
  return rest_.size();
}

std::string_view CheckedJson::take_value() {
  const char first = peek();
  std::size_t end = 0;
  if (first == '"') {
    end = string_end();
  } else if (first == '[' || first == '{') {
    end = container_end();
  } else {
    while (end < rest_.size() && !ends_word(rest_[end])) ++end;
    // A bracket where a value should be: the text is no JSON, and must still come to its end.
    if (end == 0 && !rest_.empty()) end = 1;
  }
  const std::string_view value = rest_.substr(0, end);
  rest_.remove_prefix(end);
  return value;
}

std::string meaning_of(std::string_view string) {
  if (string.size() < 2) return {};
  const std::string_view inside = string.substr(1, string.size() - 2);
  if (inside.find('\\') == inside.npos) return std::string(inside);
  const std::optional<std::string> repaired = repaired_json(string);
  const auto read =
      nlohmann::json::parse(repaired ? std::string_view(*repaired) : string, nullptr, false);
  return read.is_string() ? read.get<std::string>() : std::string(inside);
}

bool means(std::string_view string, std::string_view text) {
  if (string.find('\\') != std::string_view::npos) return meaning_of(string) == text;
  return string.size() == text.size() + 2 && string.substr(1, text.size()) == text;
}

}  // namespace millrace::faktory
