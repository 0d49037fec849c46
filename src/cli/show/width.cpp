#include "cli/show/width.hpp"

#include <algorithm>
#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cwchar>

#include "base/text.hpp"

namespace millrace::cli {
namespace {

/// One character, or a byte that begins none.
struct Character {
  std::string_view bytes;
  char32_t code = 0;
  bool is_valid = false;
};

std::size_t length_after(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xF0) return 4;
  return first >= 0xE0 ? 3 : 2;
}

/// `text` is not empty.
Character first_of(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::string_view bytes = text.substr(0, length_after(first));
  if (!is_utf8(bytes)) return {.bytes = text.substr(0, 1)};
  constexpr unsigned char kMasks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t code = first & kMasks[bytes.size()];
  for (const char c : bytes.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  return {.bytes = bytes, .code = code, .is_valid = true};
}

template <typename Use>
void each_character(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const Character character = first_of(text);
    if (!use(character)) return;
    text.remove_prefix(character.bytes.size());
  }
}

/// The C library knows the width of characters in locales with UTF-8 only.
int width_in_locale(char32_t code) {
  static const locale_t kUtf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (kUtf8 == nullptr) return 1;
  const locale_t before = uselocale(kUtf8);
  const int width = wcwidth(static_cast<wchar_t>(code));
  uselocale(before);
  return width;
}

/// Marks without a width that turn the direction of text, hide in it, or break lines.
bool is_hidden_mark(char32_t code) {
  return code == 0xAD || code == 0x61C || code == 0x180E || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         code == 0xFEFF || (code >= 0xFFF0 && code <= 0xFFFB) ||
         (code >= 0xE0000 && code <= 0xE0FFF);
}

bool is_obeyed(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || is_hidden_mark(code) ||
         width_in_locale(code) < 0;
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

std::size_t width_of(const Character& character) {
  if (character.is_valid && character.code < 0x7F) return 1;
  const int width = character.is_valid ? width_in_locale(character.code) : 1;
  return width < 0 ? 1 : static_cast<std::size_t>(width);
}

}  // namespace

std::string harmless(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  each_character(text, [&](const Character& character) {
    const bool is_shown = character.is_valid && !is_obeyed(character.code);
    out += is_shown ? std::string(character.bytes) : escape_of(character);
    return true;
  });
  return out;
}

std::string harmless_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  each_character(text, [&](const Character& character) {
    // JSON has escapes for lower ones already, or they are between its values.
    const bool is_escaped = character.code >= 0x7F && is_obeyed(character.code);
    out += is_escaped ? json_escape_of(character.code) : std::string(character.bytes);
    return true;
  });
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  each_character(text, [&](const Character& character) {
    width += width_of(character);
    return true;
  });
  return width;
}

std::string cut_to_width(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::string out;
  std::size_t width = 1;  // of the mark
  each_character(text, [&](const Character& character) {
    width += width_of(character);
    if (width > columns) return false;
    out += character.bytes;
    return true;
  });
  return out + "…";
}

std::string cut_middle_to_width(std::string_view text, std::size_t columns) {
  const std::size_t whole = display_width(text);
  if (whole <= columns) return std::string(text);
  if (columns == 0) return {};
  const std::size_t room = columns - 1;  // without the mark
  const std::size_t after = room / 2;
  std::string before_mark;
  std::string after_mark;
  std::size_t width = 0;
  each_character(text, [&](const Character& character) {
    width += width_of(character);
    if (width <= room - after) before_mark += character.bytes;
    if (width > whole - after && width - width_of(character) >= whole - after) {
      after_mark += character.bytes;
    }
    return true;
  });
  return before_mark + "…" + after_mark;
}

std::vector<std::string> broken_to_width(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines = {""};
  std::size_t width = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t word_width = display_width(word);
    if (width > 0 && width + 1 + word_width > columns) {
      lines.emplace_back();
      width = 0;
    }
    if (width > 0) {
      lines.back() += ' ';
      ++width;
    }
    lines.back() += word;
    width += word_width;
  }
  return lines;
}

std::string broken_text(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  for (const std::string& line : broken_to_width(text, columns - indent)) {
    out += (out.empty() ? "" : "\n" + std::string(indent, ' ')) + line;
  }
  return out;
}

}  // namespace millrace::cli
