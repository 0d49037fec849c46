#include "base/text.hpp"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>

namespace millrace {
namespace {

/// Debian builds Abseil for C++14. It has a string_view of its own there, which does not convert
/// from the standard one.
absl::string_view as_absl(std::string_view text) {
  return {text.data(), text.size()};
}

bool is_same_letter(char a, char b) {
  return absl::ascii_tolower(static_cast<unsigned char>(a)) ==
         absl::ascii_tolower(static_cast<unsigned char>(b));
}

}  // namespace

std::string lower_case(std::string_view text) {
  return absl::AsciiStrToLower(as_absl(text));
}

std::string upper_case(std::string_view text) {
  return absl::AsciiStrToUpper(as_absl(text));
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  // The search finds the empty text in no text that is empty itself.
  return part.empty() || std::search(text.begin(), text.end(), part.begin(), part.end(),
                                     is_same_letter) != text.end();
}

std::string_view trimmed(std::string_view text) {
  const absl::string_view stripped = absl::StripAsciiWhitespace(as_absl(text));
  return {stripped.data(), stripped.size()};
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::string one_line(std::string_view text, std::size_t bytes_max) {
  std::string line;
  for (const char c : trimmed(text)) {
    const bool is_space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!is_space || line.back() != ' ') line += is_space ? ' ' : c;
  }
  if (line.size() <= bytes_max) return line;
  line.resize(bytes_max - 3);
  return line + "...";
}

std::string_view cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  // A UTF-8 sequence has at most three bytes after its first. Longer runs are no UTF-8.
  for (std::size_t back = 0; back <= std::min<std::size_t>(3, bytes_max); ++back) {
    const std::size_t end = bytes_max - back;
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80) return text.substr(0, end);
  }
  return text.substr(0, bytes_max);
}

bool is_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    const std::string_view digits = text.substr(at + 1, 2);
    unsigned char byte = 0;
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() < 2 || error != std::errc{} || stop != digits.data() + 2) return std::nullopt;
    decoded += static_cast<char>(byte);
    at += 2;
  }
  return decoded;
}

std::string hex(std::uint64_t number) {
  return absl::StrCat(absl::Hex(number, absl::kZeroPad16));
}

std::string hex_of(std::string_view bytes) {
  return absl::BytesToHexString(as_absl(bytes));
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "/._-+,:@%";
  const bool is_plain = std::ranges::all_of(
      text, [&](char c) { return is_letter(c) || is_digit(c) || kPlain.find(c) != kPlain.npos; });
  if (is_plain && !text.empty()) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace millrace
