#include "faktory/json/checked_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "faktory/json/text.hpp"

namespace millrace::faktory {
namespace {

/// What follows a number, true, false or null.
bool ends_word(char byte) {
  return byte == ',' || byte == ']' || byte == '}' || is_json_space(byte);
}

/// The number that four hexadecimal digits mean.
std::uint32_t hex_number(std::string_view digits) {
  std::uint32_t value = 0;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

void append_utf8(std::uint32_t code, std::string& out) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(12), tail(6), tail(0);
  }
}

/// Takes `uXXXX`, and the low half of a surrogate pair after it.
void take_unicode(std::string_view& rest, std::string& out) {
  std::uint32_t code = hex_number(rest.substr(1, 4));
  rest.remove_prefix(std::min<std::size_t>(5, rest.size()));
  if (code >= 0xd800 && code < 0xdc00 && rest.starts_with("\\u")) {
    const std::uint32_t low = hex_number(rest.substr(2, 4));
    if (low >= 0xdc00 && low < 0xe000) {
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      rest.remove_prefix(std::min<std::size_t>(6, rest.size()));
    }
  }
  // Half a pair is no character.
  code >= 0xd800 && code < 0xe000 ? void(out += kReplacement) : append_utf8(code, out);
}

void take_escape(std::string_view& rest, std::string& out) {
  constexpr std::string_view kLetters = "bfnrt";
  constexpr std::string_view kMeanings = "\b\f\n\r\t";
  const char letter = rest.front();
  if (letter == 'u') return take_unicode(rest, out);
  const std::size_t place = kLetters.find(letter);
  out += place == std::string_view::npos ? letter : kMeanings[place];
  rest.remove_prefix(1);
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
  std::string out;
  if (string.size() < 2) return out;
  std::string_view rest = string.substr(1, string.size() - 2);
  while (!rest.empty()) {
    const std::size_t plain = std::min(rest.find('\\'), rest.size());
    out += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (rest.size() < 2) break;
    rest.remove_prefix(1);
    take_escape(rest, out);
  }
  return out;
}

bool means(std::string_view string, std::string_view text) {
  if (string.find('\\') != std::string_view::npos) return meaning_of(string) == text;
  return string.size() == text.size() + 2 && string.substr(1, text.size()) == text;
}

}  // namespace millrace::faktory
