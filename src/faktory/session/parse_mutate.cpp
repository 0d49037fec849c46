#include "faktory/session/parse_mutate.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/text.hpp"
#include "faktory/json/text.hpp"

namespace millrace::faktory {
namespace {

using Json = nlohmann::json;
using Reason = Refused::Reason;

/// The deepest value that we read is `filter.jids[0]`. Deeper ones are not even kept.
constexpr int kDepthMax = 3;

/// The members as they were sent.
struct Operation {
  std::string command;
  std::string target;
  JobFilter filter;
};

bool take_text(const Json& value, std::string& field) {
  if (value.is_null()) return true;
  if (!value.is_string()) return false;
  field = value.get<std::string>();
  return true;
}

bool take_texts(const Json& value, std::vector<std::string>& field) {
  field.clear();
  if (value.is_null()) return true;
  if (!value.is_array()) return false;
  for (const Json& entry : value) {
    if (!take_text(entry, field.emplace_back())) return false;
  }
  return true;
}

bool take_filter(const Json& value, JobFilter& filter) {
  if (value.is_null()) return true;
  if (!value.is_object()) return false;
  for (const auto& member : value.items()) {
    const auto is = [&](std::string_view name) { return equals_ignoring_case(member.key(), name); };
    bool fits = true;
    if (is("jids")) fits = take_texts(member.value(), filter.jids);
    if (is("regexp")) fits = take_text(member.value(), filter.regexp);
    if (is("jobtype")) fits = take_text(member.value(), filter.jobtype);
    if (!fits) return false;
  }
  return true;
}

std::optional<Operation> read_operation(std::string_view text) {
  // Clients may send broken UTF-8, which the library refuses and the reference replaces.
  const std::optional<std::string> repaired = repaired_json(text);
  if (repaired) text = *repaired;
  // Dropped while it is read, so that deep nesting takes no memory.
  const auto is_kept = [](int depth, Json::parse_event_t, const Json&) {
    return depth <= kDepthMax;
  };
  const Json json = Json::parse(text.begin(), text.end(), is_kept, false);
  if (!json.is_object()) return std::nullopt;
  Operation operation;
  for (const auto& member : json.items()) {
    const auto is = [&](std::string_view name) { return equals_ignoring_case(member.key(), name); };
    bool fits = true;
    if (is("cmd")) fits = take_text(member.value(), operation.command);
    if (is("target")) fits = take_text(member.value(), operation.target);
    if (is("filter")) fits = take_filter(member.value(), operation.filter);
    if (!fits) return std::nullopt;
  }
  return operation;
}

struct ActionRow {
  std::string_view command;
  Mutation::Action action;
  bool is_about_all;
};

constexpr std::array kActions = {
    ActionRow{"clear", Mutation::Action::kDiscard, true},
    ActionRow{"kill", Mutation::Action::kKill, false},
    ActionRow{"discard", Mutation::Action::kDiscard, false},
    ActionRow{"requeue", Mutation::Action::kRequeue, false},
};

struct TargetRow {
  std::string_view target;
  JobState set;
};

constexpr std::array kTargets = {
    TargetRow{"retries", JobState::kRetrying},
    TargetRow{"dead", JobState::kDead},
    TargetRow{"scheduled", JobState::kScheduled},
};

}  // namespace

Result<Mutate, Refused> parse_mutate(std::string_view argument) {
  // The reference splits the line at spaces, so its JSON has none.
  if (argument.empty() || argument.find(' ') != std::string_view::npos) {
    return Refused{Reason::kInvalidMutateFormat, {}};
  }
  std::optional<Operation> operation = read_operation(argument);
  if (!operation) return Refused{Reason::kInvalidMutateJson, {}};
  // Values are case-sensitive, names of members are not, as in Go.
  const auto action = std::find_if(kActions.begin(), kActions.end(), [&](const ActionRow& row) {
    return row.command == operation->command;
  });
  if (action == kActions.end()) return Refused{Reason::kUnknownMutation, {}};
  const auto target = std::find_if(kTargets.begin(), kTargets.end(), [&](const TargetRow& row) {
    return row.target == operation->target;
  });
  if (target == kTargets.end()) return Refused{Reason::kInvalidTarget, {}};
  Mutate mutate{.set = target->set, .action = action->action, .filter = {}};
  // `clear` ignores a filter, as in the reference.
  if (action->is_about_all) return mutate;
  mutate.filter = std::move(operation->filter);
  if (std::max(mutate.filter.regexp.size(), mutate.filter.jobtype.size()) > kGlobBytesMax) {
    return Refused{Reason::kGlobTooLong, {}};
  }
  return mutate;
}

}  // namespace millrace::faktory
