#include "cli/show/width.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace millrace::cli {
namespace {

std::size_t width_of(const Character& character) {
  const int width = character.is_valid ? columns_of(character.code) : 1;
  return width < 0 ? 1 : static_cast<std::size_t>(width);
}

}  // namespace

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
    const std::string_view word = take_word(text);
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
