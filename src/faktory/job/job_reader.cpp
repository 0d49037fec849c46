#include "faktory/job/job_reader.hpp"

#include <algorithm>
#include <array>

#include "base/buffer.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "faktory/json/json_check.hpp"
#include "faktory/json/text.hpp"

namespace millrace::faktory {
namespace {

namespace ondemand = simdjson::ondemand;

using MaybeProblem = std::optional<Problem>;

constexpr const char* kNoObject = "a job must be an object";

/// A value of the job: its type, its checked raw text, and what it means if it is a string.
struct Value {
  ondemand::json_type type = ondemand::json_type::null;
  std::string_view raw;
  std::string_view string;

  [[nodiscard]] bool is_null() const { return type == ondemand::json_type::null; }
};

Outcome<std::string_view> read_custom(ondemand::document& document, ondemand::value value,
                                      std::size_t depth, Custom& custom) {
  custom = {};
  return check_object(document, value, depth,
                      [&](std::string_view name, std::string_view raw) { custom.take(name, raw); });
}

/// Of an object the members come into `custom`, if there is one.
Outcome<Value> read_value(ondemand::document& document, ondemand::value value, std::size_t depth,
                          Custom* custom) {
  Value result;
  if (const auto error = value.type().get(result.type)) return json_problem(error);
  if (result.type == ondemand::json_type::string) {
    result.raw = raw_token(value);
    if (const auto error = value.get_string().get(result.string)) return json_problem(error);
    return result;
  }
  const bool is_custom = custom != nullptr && result.type == ondemand::json_type::object;
  Outcome<std::string_view> raw = is_custom ? read_custom(document, value, depth, *custom)
                                            : check_value(document, value, depth);
  if (!raw) return raw.error();
  result.raw = *raw;
  return result;
}

// The ways to take a member. Null leaves texts and numbers as they were, and makes the others
// absent. False: the member must not have this type.

bool set_text(const Value& value, std::string_view& text, std::string_view* raw) {
  if (value.is_null()) return true;
  if (value.type != ondemand::json_type::string) return false;
  text = value.string;
  if (raw != nullptr) *raw = value.raw;
  return true;
}

bool set_integer(const Value& value, std::int64_t& field) {
  if (value.is_null()) return true;
  const std::optional<std::int64_t> integer = parse_integer(value.raw);
  if (integer) field = *integer;
  return integer.has_value();
}

bool set_optional(const Value& value, std::optional<std::int64_t>& field) {
  field = value.is_null() ? std::nullopt : parse_integer(value.raw);
  return value.is_null() || field.has_value();
}

bool set_raw(const Value& value, ondemand::json_type type, std::string_view& raw) {
  raw = value.is_null() ? std::string_view{} : value.raw;
  return value.is_null() || value.type == type;
}

bool set_priority(const Value& value, std::optional<int>& priority) {
  const std::optional<std::int64_t> integer = parse_integer(value.raw);
  priority.reset();
  if (integer && *integer >= 1 && *integer <= 9) priority = static_cast<int>(*integer);
  return priority.has_value();
}

/// A member that the server knows: its name in lower case, and how to take it.
struct Row {
  std::string_view name;
  bool (*set)(JobMembers& job, const Value& value);
  bool is_custom = false;
};

/// The short names first: those that are longer than the one that is looked for are not looked at.
constexpr std::array kRows = {
    Row{"at",
        [](JobMembers& job, const Value& value) { return set_text(value, job.at, &job.raw_at); }},
    Row{"jid",
        [](JobMembers& job, const Value& value) { return set_text(value, job.jid, &job.raw_jid); }},
    Row{"args",
        [](JobMembers& job, const Value& value) {
          return set_raw(value, ondemand::json_type::array, job.raw_args);
        }},
    Row{"queue",
        [](JobMembers& job, const Value& value) { return set_text(value, job.queue, nullptr); }},
    Row{"retry",
        [](JobMembers& job, const Value& value) { return set_optional(value, job.retry); }},
    Row{"custom",
        [](JobMembers& job, const Value& value) {
          if (value.is_null()) job.custom = {};
          return set_raw(value, ondemand::json_type::object, job.custom.raw);
        },
        true},
    Row{"jobtype",
        [](JobMembers& job, const Value& value) {
          return set_text(value, job.jobtype, &job.raw_jobtype);
        }},
    Row{"failure",
        [](JobMembers& job, const Value& value) {
          return set_raw(value, ondemand::json_type::object, job.raw_failure);
        }},
    Row{"backtrace",
        [](JobMembers& job, const Value& value) { return set_integer(value, job.backtrace); }},
    Row{"created_at",
        [](JobMembers& job, const Value& value) {
          return set_text(value, job.created_at, &job.raw_created_at);
        }},
    Row{"enqueued_at",
        [](JobMembers& job, const Value& value) {
          return set_text(value, job.enqueued_at, nullptr);
        }},
    Row{"reserve_for",
        [](JobMembers& job, const Value& value) { return set_integer(value, job.reserve_for); }},
};

static_assert(std::ranges::is_sorted(kRows, {}, [](const Row& row) { return row.name.size(); }));

const Row* find_row(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name.size() > name.size()) break;
    if (row.name.size() < name.size()) continue;
    // Most clients write it as it is here.
    if (row.name == name || equals_ignoring_case(name, row.name)) return &row;
  }
  return nullptr;
}

MaybeProblem take_member(ondemand::document& document, ondemand::field& field, std::size_t depth,
                         JobMembers& job) {
  const char* const name_inside = field.key().raw();
  std::string_view name;
  if (const auto error = field.unescaped_key().get(name)) return json_problem(error);
  const Row* const row = find_row(name);
  Custom* const custom = row != nullptr && row->is_custom ? &job.custom : nullptr;
  const Outcome<Value> value = read_value(document, field.value(), depth, custom);
  if (!value) return value.error();
  if (row != nullptr) {
    if (row->set(job, *value)) return std::nullopt;
    return Problem{"member " + std::string(row->name) + " has the wrong type"};
  }
  if (equals_ignoring_case(name, "priority") && set_priority(*value, job.priority)) {
    return std::nullopt;
  }
  // Libraries and later versions add members. People see them as they were sent.
  job.others.emplace_back(raw_string(name_inside), value->raw);
  return std::nullopt;
}

MaybeProblem read_job(ondemand::document& document, ondemand::object object, std::size_t depth,
                      JobMembers& job) {
  std::size_t count = 0;
  for (auto member : object) {
    if (++count > kMembersMax) return too_many_members();
    ondemand::field field;
    if (const auto error = std::move(member).get(field)) return json_problem(error);
    if (MaybeProblem problem = take_member(document, field, depth, job)) return problem;
  }
  return std::nullopt;
}

Problem text_after_value() {
  return Problem{"invalid character after top-level value"};
}

/// Whether the container that the text begins with has an end, and something else follows.
bool continues_after_container(std::string_view json) {
  std::size_t depth = 0;
  bool is_in_string = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (is_in_string) {
      if (c == '\\') ++at;
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && (depth == 0 || --depth == 0)) {
      return !trimmed(json.substr(at + 1)).empty();
    }
  }
  return false;
}

/// Why the text has no such container. Where the last bracket does not close the first one,
/// simdjson misses an end.
Problem root_problem(simdjson::error_code error, std::string_view json, const char* wrong_type) {
  if (error == simdjson::INCORRECT_TYPE) return Problem{wrong_type};
  return continues_after_container(json) ? text_after_value() : json_problem(error);
}

MaybeProblem read_root(ondemand::document& document, std::string_view json, JobMembers& job) {
  ondemand::object object;
  if (const auto error = document.get_object().get(object)) {
    return root_problem(error, json, kNoObject);
  }
  if (MaybeProblem problem = read_job(document, object, 1, job)) return problem;
  if (!is_at_end(document)) return text_after_value();
  return std::nullopt;
}

/// Of an array, which counts as one level of nesting.
MaybeProblem read_element(ondemand::document& document, ondemand::value value, JobMembers& job) {
  ondemand::json_type type;
  if (const auto error = value.type().get(type)) return json_problem(error);
  if (type == ondemand::json_type::null) {
    const Outcome<std::string_view> null = check_value(document, value, 1);
    return null ? std::nullopt : MaybeProblem(null.error());
  }
  ondemand::object object;
  if (const auto error = value.get_object().get(object)) {
    return error == simdjson::INCORRECT_TYPE ? Problem{kNoObject} : json_problem(error);
  }
  return read_job(document, object, 2, job);
}

}  // namespace

simdjson::error_code JobReader::open() {
  if (std::optional<std::string> repaired = repaired_json(text_)) text_ = std::move(*repaired);
  const std::size_t bytes = text_.size();
  // simdjson reads past the end of the text, by up to this much.
  text_.append(kRoomBytes, '\0');
  text_.resize(bytes);
  return parser_.iterate(text_.data(), bytes, bytes + kRoomBytes).get(document_);
}

Outcome<JobMembers> JobReader::read() {
  // Go reads null into an empty job, which is then refused for what it lacks.
  if (trimmed(text_) == "null") return JobMembers{};
  if (text_.starts_with(kByteOrderMark)) {
    return Problem{"invalid character 'ï' looking for beginning of value"};
  }
  if (const auto error = open()) return json_problem(error);
  JobMembers job;
  if (MaybeProblem problem = read_root(document_, text_, job)) return *problem;
  return job;
}

Outcome<Done> JobReader::read_array(absl::FunctionRef<void(const JobMembers& members)> visit) {
  constexpr const char* kNoArray = "jobs must be an array";
  if (trimmed(text_) == "null") return Done{};
  if (text_.starts_with(kByteOrderMark)) return Problem{kNoArray};
  if (const auto error = open()) return json_problem(error);
  ondemand::array array;
  if (const auto error = document_.get_array().get(array)) {
    return root_problem(error, text_, kNoArray);
  }
  for (auto element : array) {
    ondemand::value value;
    JobMembers job;
    if (const auto error = element.get(value)) return json_problem(error);
    if (const MaybeProblem problem = read_element(document_, value, job)) return *problem;
    visit(job);
  }
  if (!is_at_end(document_)) return text_after_value();
  return Done{};
}

void JobReader::shrink() {
  if (text_.capacity() <= kKeptBufferBytesMax) return;
  // First, since it points into the parser and the text.
  document_ = {};
  parser_ = simdjson::ondemand::parser{};
  reset(text_, 0);
}

}  // namespace millrace::faktory
