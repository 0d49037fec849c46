#include "server/options/throttle_options.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/duration.hpp"
#include "base/number.hpp"
#include "base/steps.hpp"
#include "base/text.hpp"
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

/// A member of the limits of a queue or a type.
struct Member {
  std::string_view name;
  std::uint32_t ThrottleLimits::*value;
  std::uint32_t max;
  bool is_time = false;  ///< in seconds; a text such as "1m30s" is one too
};
constexpr std::array kMembers = {
    Member{"concurrency", &ThrottleLimits::concurrency, kThrottleSlotsMax},
    Member{"worker", &ThrottleLimits::worker, kThrottleSlotsMax},
    Member{"per_key", &ThrottleLimits::per_key, kThrottleSlotsMax},
    Member{"timeout", &ThrottleLimits::timeout_s, kThrottleSecondsMax, true},
    Member{"rate.count", &ThrottleLimits::rate_count, kThrottleRateMax},
    Member{"rate.per", &ThrottleLimits::rate_s, kThrottleSecondsMax, true}};

constexpr const char* kQuotesHint = ". A name with a dot needs quotes: \"mail.fast\"";

Problem at(const std::string& place, const std::string& text) {
  return Problem{place + ": " + text};
}

/// 0: it is none.
std::int64_t limit_in(const Setting& setting, bool is_time) {
  if (setting.kind == Setting::Kind::kNumber) {
    return parse_number<std::int64_t>(setting.text).value_or(0);
  }
  if (setting.kind != Setting::Kind::kString || !is_time) return 0;
  return parse_whole<std::chrono::seconds>(setting.text).value_or(std::chrono::seconds{}).count();
}

/// The limits of one name, while its settings are read.
struct Entry {
  std::string place;  ///< of its first setting
  const ConfigDocument* document;
  ThrottleLimits limits;
};

/// The settings of all files, one after the other.
class ThrottleReader {
 public:
  Outcome<Done> read(const ConfigDocument& document, const Setting& setting) {
    if (setting.path.size() == 1) {
      // A table whose lines are all comments.
      if (setting.kind == Setting::Kind::kEmptyTable) return Done{};
      return at(setting.place, "throttles must be a table, with a line for each queue");
    }
    const std::string& name = setting.path[1];
    const std::string shown = "throttles." + name;
    if (name.empty() || name.size() > kQueueNameBytesMax) {
      return at(setting.place, "throttles: a name must have 1 to 1024 bytes");
    }
    if (name == kTypePrefix) {
      return at(setting.place, "throttles: type: needs a jobtype, as in \"type:Mail\"");
    }
    if (has_open_bracket(name)) {
      return at(setting.place,
                "throttles: no ] follows the [ of \"" + one_line(name, kShownKeyBytesMax) + "\"");
    }
    if (!is_type_name(name) && !may_match_queue(name)) {
      return at(setting.place, "throttles: no queue can have the name \"" +
                                   one_line(name, kShownKeyBytesMax) + "\"");
    }
    auto [found, is_new] = entries_.try_emplace(
        name, Entry{.place = setting.place, .document = &document, .limits = {}});
    Entry& entry = found->second;
    if (entries_.size() > kThrottleRulesMax) return at(setting.place, "more than 10000 throttles");
    patterns_ += is_new && is_pattern(name) ? 1 : 0;
    if (patterns_ > kThrottlePatternsMax) {
      return at(setting.place, "more than 100 throttles with a pattern");
    }
    if (entry.document != &document) {
      return at(setting.place, shown + " is also at " + entry.place);
    }
    if (setting.path.size() == 2) {
      if (setting.kind == Setting::Kind::kEmptyTable) {
        return at(setting.place, shown + " has no limit, as in { concurrency = 4, timeout = 60 }");
      }
      return at(setting.place, shown + " must be a table, as in { concurrency = 4, timeout = 60 }");
    }
    return set(entry, shown, setting);
  }

  Outcome<std::vector<ThrottleRule>> take() {
    std::vector<ThrottleRule> rules;
    for (auto& [name, entry] : entries_) {
      const ThrottleLimits& limits = entry.limits;
      const std::string shown = "throttles." + name;
      if (!limits.has_slots() && limits.timeout_s != 0) {
        return at(entry.place, shown + ": timeout needs concurrency, worker or per_key");
      }
      if (limits.has_slots() && limits.timeout_s == 0) {
        return at(entry.place, shown +
                                   ": timeout is missing: after how many seconds a job counts "
                                   "no more");
      }
      if ((limits.rate_count == 0) != (limits.rate_s == 0)) {
        return at(entry.place, shown + ": rate needs count and per");
      }
      rules.push_back({.pattern = name, .limits = limits});
    }
    return rules;
  }

 private:
  static Outcome<Done> set(Entry& entry, const std::string& shown, const Setting& setting) {
    std::string member;
    for (std::size_t i = 2; i < setting.path.size(); ++i) {
      member += (i == 2 ? "" : ".") + setting.path[i];
    }
    const auto known = std::find_if(kMembers.begin(), kMembers.end(),
                                    [&](const Member& each) { return each.name == member; });
    if (known == kMembers.end()) {
      if (member == "rate") return at(setting.place, shown + ": rate needs count and per");
      if (member.starts_with("rate.")) {
        return at(setting.place, shown + ": rate has count and per, and no '" +
                                     one_line(member.substr(5), kShownKeyBytesMax) + "'");
      }
      return at(setting.place, shown + ": unknown member '" + one_line(member, kShownKeyBytesMax) +
                                   "'; there are concurrency, worker, per_key, timeout and rate" +
                                   (setting.path.size() > 3 ? kQuotesHint : ""));
    }
    const std::int64_t number = limit_in(setting, known->is_time);
    if (number <= 0 || number > known->max) {
      return at(setting.place, shown + ": " + member + " must be a whole number " +
                                   (known->is_time ? "of seconds " : "") + "from 1 to " +
                                   std::to_string(known->max) +
                                   (known->is_time ? ", or a text such as \"1m30s\"" : ""));
    }
    entry.limits.*(known->value) = static_cast<std::uint32_t>(number);
    if (!can_have(setting.path[1], entry.limits)) {
      return at(setting.place, shown + ": " + member + " limits queues, not types");
    }
    return Done{};
  }

  std::map<std::string, Entry> entries_;
  std::size_t patterns_ = 0;
};

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

Outcome<std::vector<ThrottleRule>> read_throttles(std::span<const ConfigDocument> documents) {
  ThrottleReader reader;
  for (const ConfigDocument& document : documents) {
    for (const Setting& setting : document.settings()) {
      if (setting.path.front() != kThrottlesTable) continue;
      if (const auto read = reader.read(document, setting); !read) return read.error();
    }
  }
  return reader.take();
}

}  // namespace millrace::server
