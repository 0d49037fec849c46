#include "cli/options/value_hint.hpp"

#include <algorithm>

#include "cli/options/nearest_word.hpp"

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

}  // namespace millrace::cli
