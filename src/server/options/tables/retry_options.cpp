#include "server/options/tables/retry_options.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "faktory/features/retry_delays.hpp"
#include "faktory/job/work_unit.hpp"
#include "server/options/throttle_options.hpp"

namespace millrace::server {
namespace {

constexpr std::string_view kKeys[] = {"type", "queue", "delays", "factor"};

/// Reads one `[[retry]]`.
class RetryReader {
 public:
  explicit RetryReader(const ConfigTable& entry) : entry_(entry), table_(entry.table()) {}

  Outcome<RetryRule> read() {
    if (auto keys = entry_.check_keys("retry", kKeys); !keys) return keys.error();
    RetryRule rule;
    for (const auto& [key, text] : {std::pair{"type", &rule.type}, {"queue", &rule.queue}}) {
      if (auto read = read_pattern(key, *text); !read) return read.error();
    }
    if (rule.type.empty() && rule.queue.empty()) {
      return problem(table_, "retry needs a type or a queue; \"*\" means all");
    }
    if (table_.contains("delays") == table_.contains("factor")) {
      return problem(table_, "retry needs delays, or factor, and not both");
    }
    rule.delays.from = "[[retry]] at " + entry_.place();
    auto read = table_.contains("delays") ? read_delays(rule.delays) : read_factor(rule.delays);
    if (!read) return read.error();
    return rule;
  }

 private:
  [[nodiscard]] Problem problem(const toml::node& node, const std::string& why) const {
    return entry_.problem(node, why);
  }

  Outcome<Done> read_pattern(const char* key, std::string& into) const {
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return Done{};
    const auto text = node->value<std::string>();
    if (!node->is_string() || text->empty() || text->size() > kQueueNameBytesMax) {
      return problem(*node, std::string("retry: ") + key +
                                " must be a string of 1 to 1024 bytes, such as \"mail*\"");
    }
    if (has_open_bracket(*text)) {
      return problem(*node, std::string("retry: no ] follows the [ of ") + key);
    }
    into = *text;
    return Done{};
  }

  Outcome<Done> read_delays(RetryDelays& delays) const {
    const toml::node& node = *table_.get("delays");
    const toml::array* const list = node.as_array();
    if (list == nullptr || list->empty() || list->size() > faktory::kRetryDelaysMax) {
      return problem(node, "retry: delays must be a list of 1 to 100, as in [\"10s\", \"1m\"]");
    }
    for (const toml::node& each : *list) {
      const auto delay = each.is_string() ? faktory::parse_delay(*each.value<std::string>())
                         : each.is_integer()
                             ? faktory::parse_delay(std::to_string(*each.value<std::int64_t>()))
                             : std::nullopt;
      if (!delay) {
        return problem(
            each,
            "retry: a delay must be from 1s to 365d in whole seconds, such as 90, \"90s\" "
            "or \"1m30s\"");
      }
      delays.seconds.push_back(*delay);
    }
    return Done{};
  }

  Outcome<Done> read_factor(RetryDelays& delays) const {
    const toml::node& node = *table_.get("factor");
    const auto factor = node.value<double>();
    if (!node.is_number() || !(*factor >= kRetryFactorMin && *factor <= kRetryFactorMax)) {
      return problem(node, "retry: factor must be a number from 0.01 to 100");
    }
    delays.factor = *factor;
    return Done{};
  }

  const ConfigTable& entry_;
  const toml::table& table_;
};

/// A rule, ready to be compared.
struct Matched {
  RetryRule rule;
  std::optional<faktory::Glob> type;
  std::optional<faktory::Glob> queue;
};

/// By the type that people are shown, or by that of its framework.
bool matches_type(faktory::Glob& glob, const WorkUnitFormat::Type& type) {
  if (type.name.empty()) return false;
  return matches(glob, type.name) || (!type.wrapper.empty() && matches(glob, type.wrapper));
}

std::optional<faktory::Glob> glob_of(const std::string& pattern) {
  return pattern.empty() ? std::nullopt : std::optional<faktory::Glob>(pattern);
}

}  // namespace

Outcome<std::vector<RetryRule>> read_retries(std::span<const ConfigDocument> documents) {
  std::vector<RetryRule> rules;
  const auto read = [&](const ConfigTable& entry) -> Outcome<Done> {
    auto rule = RetryReader(entry).read();
    if (!rule) return rule.error();
    if (rules.size() == kRetryRulesMax) {
      return entry.problem(entry.table(), "more than 1000 [[retry]]");
    }
    rules.push_back(std::move(*rule));
    return Done{};
  };
  const auto done = read_entries(documents, std::string(kRetryTable), read);
  return done ? Outcome<std::vector<RetryRule>>(std::move(rules)) : done.error();
}

FindRetryDelays retry_delays(std::vector<RetryRule> rules, const WorkUnitFormat& format) {
  // Shared by the copies of a function, which must be able to have some.
  const auto matched = std::make_shared<std::vector<Matched>>();
  for (RetryRule& rule : rules) {
    auto type = glob_of(rule.type);
    auto queue = glob_of(rule.queue);
    matched->push_back(
        {.rule = std::move(rule), .type = std::move(type), .queue = std::move(queue)});
  }
  return [matched, &format](const Job& job, std::string_view queue) -> std::optional<RetryDelays> {
    if (auto own = faktory::WorkUnits::retry_delays(job); !own.empty()) {
      return RetryDelays{.seconds = std::move(own), .from = "custom.retry_delays"};
    }
    if (matched->empty()) return std::nullopt;
    const WorkUnitFormat::Type type = format.type_of(job);
    for (Matched& each : *matched) {
      if (each.type && !matches_type(*each.type, type)) continue;
      if (!each.queue || matches(*each.queue, queue)) return each.rule.delays;
    }
    return std::nullopt;
  };
}

}  // namespace millrace::server
