#include "faktory/session/parse_mutate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "faktory/json/text.hpp"

namespace millrace::faktory {
namespace {

using Json = nlohmann::json;
using Reason = Refused::Reason;

/// The members as they were sent.
struct Operation {
  std::string command;
  std::string target;
  std::string to;
  MutateFilter filter;
};

/// Reads an operation as the library comes upon its parts, and stops at the first that is wrong or
/// too much. So nothing is kept of what is passed over, however much or deep that is.
class OperationReader : public nlohmann::json_sax<Json> {
 public:
  Operation operation;
  bool has_too_many_jids = false;

  bool null() override {
    if (place() == Place::kJid) return take_jid({});
    if (place() == Place::kJids) operation.filter.jids.clear();
    return depth_ > 0;
  }
  bool string(std::string& text) override {
    switch (place()) {
      case Place::kElsewhere:
        return true;
      case Place::kText:
        *field_ = std::move(text);
        return true;
      case Place::kJid:
        return take_jid(std::move(text));
      case Place::kRoot:
      case Place::kFilter:
      case Place::kJids:
        return false;
    }
    return false;
  }
  bool boolean(bool) override { return place() == Place::kElsewhere; }
  bool number_integer(std::int64_t) override { return place() == Place::kElsewhere; }
  bool number_unsigned(std::uint64_t) override { return place() == Place::kElsewhere; }
  bool number_float(double, const std::string&) override { return place() == Place::kElsewhere; }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    const Place at = place();
    ++depth_;
    is_in_filter_ |= at == Place::kFilter;
    return at == Place::kRoot || at == Place::kFilter || at == Place::kElsewhere;
  }
  bool start_array(std::size_t) override {
    const Place at = place();
    ++depth_;
    is_in_jids_ |= at == Place::kJids;
    if (at == Place::kJids) operation.filter.jids.clear();
    return at == Place::kJids || at == Place::kElsewhere;
  }
  bool end_object() override {
    if (--depth_ == kOperationDepth) is_in_filter_ = false;
    return true;
  }
  bool end_array() override {
    if (--depth_ == kFilterDepth) is_in_jids_ = false;
    return true;
  }

  bool key(std::string& name) override {
    const auto is = [&](std::string_view other) { return equals_ignoring_case(name, other); };
    if (depth_ == kOperationDepth) {
      is_filter_ = is("filter");
      field_ = is("cmd")      ? &operation.command
               : is("target") ? &operation.target
               : is("to")     ? &operation.to
                              : nullptr;
    } else if (is_in_filter_ && depth_ == kFilterDepth) {
      MutateFilter& filter = operation.filter;
      is_jids_ = is("jids");
      field_ = is("regexp") ? &filter.regexp : is("jobtype") ? &filter.jobtype : nullptr;
    }
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  /// What the value is that begins here.
  enum class Place { kRoot, kText, kFilter, kJids, kJid, kElsewhere };

  static constexpr int kOperationDepth = 1;
  static constexpr int kFilterDepth = 2;
  static constexpr int kJidsDepth = 3;

  [[nodiscard]] Place place() const {
    if (depth_ == 0) return Place::kRoot;
    if (is_in_jids_ && depth_ == kJidsDepth) return Place::kJid;
    const bool is_member = depth_ == kOperationDepth || (is_in_filter_ && depth_ == kFilterDepth);
    if (!is_member) return Place::kElsewhere;
    if (field_ != nullptr) return Place::kText;
    if (depth_ == kOperationDepth) return is_filter_ ? Place::kFilter : Place::kElsewhere;
    return is_jids_ ? Place::kJids : Place::kElsewhere;
  }

  bool take_jid(std::string jid) {
    has_too_many_jids = operation.filter.jids.size() == kMutateJidsMax;
    if (!has_too_many_jids) operation.filter.jids.push_back(std::move(jid));
    return !has_too_many_jids;
  }

  int depth_ = 0;  ///< how many containers are around
  // Of the last name in the operation, or in its filter.
  std::string* field_ = nullptr;  ///< of a text; else null
  bool is_filter_ = false;
  bool is_jids_ = false;
  // What is around.
  bool is_in_filter_ = false;
  bool is_in_jids_ = false;
};

Result<Operation, Refused> read_operation(std::string_view text) {
  // Clients may send broken UTF-8, which the library refuses and the reference replaces.
  const std::optional<std::string> repaired = repaired_json(text);
  if (repaired) text = *repaired;
  OperationReader reader;
  // The library skips the mark.
  if (!text.starts_with(kByteOrderMark) && Json::sax_parse(text.begin(), text.end(), &reader))
    return std::move(reader.operation);
  const Reason reason =
      reader.has_too_many_jids ? Reason::kTooManyJids : Reason::kInvalidMutateJson;
  return Refused{reason, {}};
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
    ActionRow{"move", Mutation::Action::kMove, false},
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
  if (argument.empty()) return Refused{Reason::kInvalidMutateFormat, {}};
  Result<Operation, Refused> operation = read_operation(argument);
  if (!operation) return operation.error();
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
  if (mutate.action == Mutation::Action::kMove) {
    mutate.to = std::move(operation->to);
    const bool is_name = is_queue_name(mutate.to) && mutate.to.size() <= kQueueNameBytesMax;
    if (!is_name) return Refused{Reason::kInvalidMoveQueue, {}};
  }
  if (std::max(mutate.filter.regexp.size(), mutate.filter.jobtype.size()) > kGlobBytesMax) {
    return Refused{Reason::kGlobTooLong, {}};
  }
  return mutate;
}

}  // namespace millrace::faktory
