#include "base/shell_word.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace millrace {

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
