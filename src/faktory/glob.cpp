#include "faktory/glob.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace millrace::faktory {
namespace {

/// Takes the class behind its `[` off the front, and says whether the byte is in it.
bool take_class(std::string_view& pattern, char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool is_negated = pattern.starts_with('^');
  if (is_negated) pattern.remove_prefix(1);
  bool is_in = false;
  while (!pattern.empty() && pattern.front() != ']') {
    if (pattern.front() == '\\' && pattern.size() >= 2) pattern.remove_prefix(1);
    auto low = static_cast<unsigned char>(pattern.front());
    auto high = low;
    pattern.remove_prefix(1);
    if (pattern.size() >= 2 && pattern.front() == '-' && pattern[1] != ']') {
      high = static_cast<unsigned char>(pattern[1]);
      pattern.remove_prefix(2);
      if (low > high) std::swap(low, high);
    }
    is_in = is_in || (low <= byte && byte <= high);
  }
  if (!pattern.empty()) pattern.remove_prefix(1);
  return is_in != is_negated;
}

/// Takes what stands for one byte off the front, and says whether this one fits.
bool take_one(std::string_view& pattern, char c) {
  const char first = pattern.front();
  pattern.remove_prefix(1);
  if (first == '?') return true;
  if (first == '[') return take_class(pattern, c);
  if (first != '\\' || pattern.empty()) return first == c;
  const char escaped = pattern.front();
  pattern.remove_prefix(1);
  return escaped == c;
}

}  // namespace

bool matches_glob(std::string_view pattern, std::string_view text) {
  // Only the last star can have to take more than it did: what was before it has found its place.
  bool has_star = false;
  std::string_view behind_star;
  std::string_view star_text;
  while (true) {
    if (pattern.starts_with('*')) {
      has_star = true;
      pattern.remove_prefix(1);
      if (pattern.empty()) return true;
      behind_star = pattern;
      star_text = text;
      continue;
    }
    if (text.empty()) return pattern.empty();
    if (!pattern.empty() && take_one(pattern, text.front())) {
      text.remove_prefix(1);
      continue;
    }
    if (!has_star) return false;
    star_text.remove_prefix(1);
    text = star_text;
    pattern = behind_star;
  }
}

bool is_plain_text(std::string_view pattern) {
  return pattern.find_first_of("*?[\\") == std::string_view::npos;
}

}  // namespace millrace::faktory
