#include "cli/value_hint.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace millrace::cli {
namespace {

/// What other servers call a state.
struct OtherName {
  std::string_view name;
  std::string_view ours;
};

constexpr std::array kOtherNames = {
    OtherName{"buried", "dead"},      OtherName{"delayed", "scheduled"},
    OtherName{"enqueued", "ready"},   OtherName{"retries", "retrying"},
    OtherName{"running", "reserved"}, OtherName{"working", "reserved"}};

constexpr std::size_t kLettersPerMistake = 3;
/// Longer texts are no words.
constexpr std::size_t kTextBytesMax = 40;

/// How many letters must be put in, left out or replaced, or pairs of neighbors exchanged, to make
/// one of the other (Damerau 1964).
std::size_t distance(std::string_view a, std::string_view b) {
  // costs[i][j]: of the first i letters of `a` and the first j of `b`.
  std::vector<std::vector<std::size_t>> costs(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) costs[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) costs[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = costs[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      costs[i][j] = std::min({costs[i - 1][j] + 1, costs[i][j - 1] + 1, replaced});
      if (i == 1 || j == 1 || a[i - 1] != b[j - 2] || a[i - 2] != b[j - 1]) continue;
      costs[i][j] = std::min(costs[i][j], costs[i - 2][j - 2] + 1);
    }
  }
  return costs[a.size()][b.size()];
}

}  // namespace

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

std::string must_be(std::span<const std::string_view> words, std::string_view text) {
  std::string_view meant = nearest_word(text, words);
  for (const OtherName& other : kOtherNames) {
    if (other.name == text && has_word(words, other.ours)) meant = other.ours;
  }
  const std::string problem = "must be " + listed(words);
  return meant.empty() ? problem : problem + "; did you mean " + std::string(meant) + "?";
}

std::string_view nearest_word(std::string_view text, std::span<const std::string_view> words) {
  if (text.size() > kTextBytesMax) return {};
  std::string_view nearest;
  std::size_t least = text.size() / kLettersPerMistake + 1;
  for (const std::string_view word : words) {
    const std::size_t mistakes = distance(text, word);
    if (mistakes >= least) continue;
    least = mistakes;
    nearest = word;
  }
  return nearest;
}

}  // namespace millrace::cli
