#include "server/options/throttle_matcher.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/steps.hpp"
#include "base/text_map.hpp"

namespace millrace::server {
namespace {

class Matcher {
 public:
  explicit Matcher(std::vector<ThrottleRule> list) : list_(std::move(list)) {
    for (const ThrottleRule& rule : list_) {
      if (is_pattern(rule.pattern)) {
        patterns_.push_back({.rule = &rule,
                             .glob = faktory::Glob(rule.pattern),
                             .is_of_types = is_type_name(rule.pattern)});
      } else {
        names_.emplace(rule.pattern, &rule);
      }
    }
    std::stable_sort(patterns_.begin(), patterns_.end(), [](const auto& a, const auto& b) {
      return a.rule->pattern.size() > b.rule->pattern.size();
    });
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  [[nodiscard]] const ThrottleRule* find(std::string_view name) {
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    for (Pattern& pattern : patterns_) {
      // `*` means all queues, and no type.
      if (pattern.is_of_types != is_type_name(name)) continue;
      if (matches(pattern.glob, name)) return pattern.rule;
    }
    return nullptr;
  }

 private:
  struct Pattern {
    const ThrottleRule* rule;
    faktory::Glob glob;
    bool is_of_types;
  };

  const std::vector<ThrottleRule> list_;
  TextMap<const ThrottleRule*> names_;
  std::vector<Pattern> patterns_;
};

/// The part of the name or pattern that means one character, or is a star; it is not empty.
std::string_view first_place(std::string_view pattern) {
  if (pattern.front() == '\\') return pattern.substr(0, 2);
  if (pattern.front() != '[') return pattern.substr(0, 1);
  std::size_t end = 1;
  while (end < pattern.size() && pattern[end] != ']') end += pattern[end] == '\\' ? 2 : 1;
  return pattern.substr(0, end + 1);
}

bool fits_some_character(std::string_view place) {
  // Tubes may have more of them than the queues of Faktory's clients.
  constexpr std::string_view kCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+/;.$_()";
  faktory::Glob glob(place);
  return std::ranges::any_of(kCharacters, [&](const char& c) {
    glob.restart();
    Steps steps(SIZE_MAX);
    if (!glob.is_decided()) (void)glob.read({&c, 1}, steps);
    return glob.matches();
  });
}

}  // namespace

bool matches(faktory::Glob& glob, std::string_view text) {
  glob.restart();
  // A name and a pattern have an end: the steps need none.
  Steps steps(SIZE_MAX);
  while (!glob.is_decided() && !text.empty()) text.remove_prefix(glob.read(text, steps));
  return glob.matches();
}

bool has_open_bracket(std::string_view name) {
  while (!name.empty()) {
    const std::string_view place = first_place(name);
    const bool is_set = place.front() == '[';
    if (is_set && (place.size() == 1 || place.back() != ']')) return true;
    name.remove_prefix(place.size());
  }
  return false;
}

bool may_match_queue(std::string_view name) {
  while (!name.empty()) {
    const std::string_view place = first_place(name);
    if (!fits_some_character(place)) return false;
    name.remove_prefix(place.size());
  }
  return true;
}

ThrottleRules throttle_rules(std::vector<ThrottleRule> list) {
  ThrottleRules rules{.list = list, .find = {}, .types = {}};
  for (const ThrottleRule& rule : list) {
    if (!is_type_name(rule.pattern)) continue;
    rules.has_types = true;
    if (!is_pattern(rule.pattern)) rules.types.push_back(rule.pattern);
  }
  // Shared by the copies of a function, which must be able to have some.
  const auto matcher = std::make_shared<Matcher>(std::move(list));
  rules.find = [matcher](std::string_view name) { return matcher->find(name); };
  return rules;
}

}  // namespace millrace::server
