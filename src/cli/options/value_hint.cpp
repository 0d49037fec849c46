#include "cli/options/value_hint.hpp"

#include <algorithm>

namespace millrace::cli {

bool has_word(std::span<const std::string_view> words, std::string_view text) {
  return std::ranges::find(words, text) != words.end();
}

std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace millrace::cli
