#include "base/text.hpp"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <simdjson.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cwchar>

#include "base/number.hpp"

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

std::size_t length_after(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xF0) return 4;
  return first >= 0xE0 ? 3 : 2;
}

/// Marks without a width that turn the direction of text, hide in it, or break lines.
bool is_hidden_mark(char32_t code) {
  return code == 0xAD || code == 0x34F || code == 0x61C || code == 0x115F || code == 0x1160 ||
         code == 0x180E || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         code == 0x3164 || code == 0xFEFF || code == 0xFFA0 || (code >= 0xFFF0 && code <= 0xFFFB) ||
         (code >= 0xE0000 && code <= 0xE0FFF);
}

std::string escape_of(const Character& character) {
  switch (character.code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  char text[16];
  if (!character.is_valid || character.code < 0x100) {
    const auto number = character.is_valid ? static_cast<unsigned>(character.code)
                                           : static_cast<unsigned char>(character.bytes.front());
    std::snprintf(text, sizeof text, "\\x%02x", number);
  } else {
    std::snprintf(text, sizeof text, "\\u{%x}", static_cast<unsigned>(character.code));
  }
  return text;
}

/// In units of UTF-16, as JSON has them.
std::string json_escape_of(char32_t code) {
  char text[16];
  if (code < 0x10000) {
    std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(code));
  } else {
    const auto rest = static_cast<unsigned>(code - 0x10000);
    std::snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xD800 + (rest >> 10),
                  0xDC00 + (rest & 0x3FF));
  }
  return text;
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

std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view taken = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(taken.size() + 1, text.size()));
  return taken;
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

std::string_view without_broken_escape(std::string_view json) {
  std::size_t end = 0;
  for (std::size_t at = json.find('\\'); at != json.npos; at = json.find('\\', end)) {
    const std::string_view escape = json.substr(at);
    const std::size_t bytes = escape.starts_with("\\u") ? 6 : 2;
    const bool is_first_half = bytes == 6 && escape.size() > 3 && (escape[2] | 0x20) == 'd' &&
                               std::string_view("89abAB").find(escape[3]) != escape.npos;
    end = at + (is_first_half ? 2 * bytes : bytes);
    if (end > json.size()) return json.substr(0, at);
  }
  return json;
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
    const auto byte = parse_number<unsigned char>(digits, 16);
    if (digits.size() < 2 || !byte) return std::nullopt;
    decoded += static_cast<char>(*byte);
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

// ---- text that people read ----------------------------------------------------------------------

Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::string_view bytes = text.substr(0, length_after(first));
  if (!is_utf8(bytes)) return {.bytes = text.substr(0, 1)};
  constexpr unsigned char kMasks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t code = first & kMasks[bytes.size()];
  for (const char c : bytes.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  return {.bytes = bytes, .code = code, .is_valid = true};
}

/// The C library knows the width of characters in locales with UTF-8 only.
int columns_of(char32_t code) {
  if (code >= 0x20 && code < 0x7F) return 1;
  static const locale_t kUtf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (kUtf8 == nullptr) return 1;
  const locale_t before = uselocale(kUtf8);
  const int width = wcwidth(static_cast<wchar_t>(code));
  uselocale(before);
  return width;
}

bool is_harmless(const Character& character) {
  const char32_t code = character.code;
  if (code >= 0x20 && code < 0x7F) return true;
  return code >= 0xA0 && !is_hidden_mark(code) && columns_of(code) >= 0;
}

std::string harmless(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  each_character(text, [&](const Character& character) {
    is_harmless(character) ? void(out += character.bytes) : void(out += escape_of(character));
    return true;
  });
  return out;
}

std::string harmless_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  each_character(text, [&](const Character& character) {
    // JSON has escapes for lower ones already, or they are between its values.
    const bool is_escaped = character.code >= 0x7F && !is_harmless(character);
    out += is_escaped ? json_escape_of(character.code) : std::string(character.bytes);
    return true;
  });
  return out;
}

}  // namespace millrace
