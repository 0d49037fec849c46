#include "faktory/job/shown_type.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "faktory/job/stored_form.hpp"
#include "faktory/json/checked_json.hpp"

namespace millrace::faktory {
namespace {

/// The text may be cut: a string without its end is none.
bool is_whole_string(std::string_view raw) {
  if (raw.size() < 2 || raw.front() != '"' || raw.back() != '"') return false;
  const std::string_view inside = raw.substr(1, raw.size() - 2);
  const std::size_t last = inside.find_last_not_of('\\');
  const std::size_t plain = last == inside.npos ? 0 : last + 1;
  return (inside.size() - plain) % 2 == 0;
}

bool is_type_name(std::string_view raw) {
  return raw.size() > 2 && raw.size() <= kShownTypeBytesMax && is_whole_string(raw);
}

/// From the beginning of one view of a body to the end of another.
std::string_view from_to(std::string_view first, std::string_view last) {
  return {first.data(), static_cast<std::size_t>(last.data() + last.size() - first.data())};
}

/// `"name":"T"`. Empty: the value is no name of a type.
std::string_view named_part(std::string_view name, std::string_view value) {
  return is_type_name(value) ? from_to(name, value) : std::string_view{};
}

/// The first two strings of an array. Empty: they are not there.
struct Two {
  std::string_view first;
  std::string_view second;
};
Two take_two(CheckedJson& json) {
  if (!json.take('[')) return {};
  const std::string_view first = json.take_value();
  if (!json.take(',')) return {};
  return {.first = first, .second = json.take_value()};
}

/// `"arguments":["Mailer","method"`. `args` begins with an array; more may follow.
std::string_view mail_part(std::string_view args) {
  std::string_view part;
  CheckedJson json(args.substr(0, kTypeSearchBytes));
  if (!json.take('[')) return part;
  each_member(json.rest(), [&part](std::string_view name, std::string_view value) {
    if (!means(name, "arguments")) return;
    CheckedJson list(value);
    const Two names = take_two(list);
    const bool are_names = is_type_name(names.first) && is_type_name(names.second);
    part = are_names ? from_to(name, names.second) : std::string_view{};
  });
  return part;
}

/// Both texts may go on after their value, and be empty.
std::string_view wrapped_part(std::string_view custom, std::string_view args) {
  std::string_view part;
  std::string_view wrapped;
  each_member(custom.substr(0, kTypeSearchBytes),
              [&](std::string_view name, std::string_view value) {
                if (!means(name, "wrapped")) return;
                part = named_part(name, value);
                wrapped = value;
              });
  const bool is_mail = means(wrapped, "ActionMailer::MailDeliveryJob") ||
                       means(wrapped, "ActionMailer::DeliveryJob");
  const std::string_view mail = is_mail ? mail_part(args) : std::string_view{};
  return mail.empty() ? part : mail;
}

/// Nearly all jobs have another jobtype, and cost a comparison.
std::string_view pushed_part(const Job& job) {
  const std::string_view body = job.body_view();
  const std::string_view head = head_of(body);
  constexpr std::string_view kCustomStart = R"(,"custom":)";
  std::string_view rest = head;
  if (!rest.starts_with(kTypeStart)) return head;
  rest.remove_prefix(kTypeStart.size() + 1);
  if (!rest.starts_with(kActiveJobWrapper)) return head;
  rest.remove_prefix(kActiveJobWrapper.size());
  const std::optional<StoredForm> form = decode_work_unit(body);
  if (!rest.starts_with('"') || !form || !form->until_jid.starts_with(kCustomStart)) return head;
  const std::string_view custom = form->until_jid.substr(kCustomStart.size());
  const std::string_view part = wrapped_part(custom, args_part(job));
  return part.empty() ? head : part;
}

/// With which the bodies that name a type begin: they are told from most others by that.
bool starts_with_known_name(std::string_view body) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "at",      "jid",       "job",        "args",        "body",       "uuid",
      "queue",   "retry",     "custom",     "headers",     "jobtype",    "priority",
      "failure", "backtrace", "created_at", "displayName", "reserve_for"};
  CheckedJson json(body);
  if (!json.take('{') || json.peek() != '"') return false;
  const std::string_view name = json.take_value();
  if (name.size() < 4) return false;
  const std::string_view inside = name.substr(1, name.size() - 2);
  return std::ranges::any_of(
      kNames, [&](std::string_view each) { return equals_ignoring_case(each, inside); });
}

/// The members of a body that was put, as far as they matter. FWP compares its own without case.
struct PutMembers {
  std::string_view jobtype;  ///< with its value, as `display_name`
  std::string_view custom;
  std::string_view args;
  std::string_view display_name;
  std::string_view headers;
  bool has_wrapper = false;
  bool has_job = false;
  bool has_body = false;

  void take(std::string_view name, std::string_view value) {
    if (equals_ignoring_case(name, "\"jobtype\"")) {
      jobtype = named_part(name, value);
      has_wrapper = means(value, kActiveJobWrapper);
    } else if (equals_ignoring_case(name, "\"custom\"")) {
      custom = value;
    } else if (equals_ignoring_case(name, "\"args\"")) {
      args = value;
    } else if (name == "\"displayName\"") {
      display_name = named_part(name, value);
    } else if (name == "\"headers\"") {
      headers = value;
    } else if (name == "\"job\"") {
      has_job = is_whole_string(value);
    } else if (name == "\"body\"") {
      has_body = is_whole_string(value);
    }
  }

  /// Whatever follows, which may be long.
  [[nodiscard]] bool is_decided() const {
    return (has_job && !display_name.empty()) || (has_body && !headers.empty());
  }

  [[nodiscard]] std::string_view type_part() const {
    if (!jobtype.empty() && args.starts_with('[')) {
      const std::string_view part = has_wrapper ? wrapped_part(custom, args) : std::string_view{};
      return part.empty() ? jobtype : part;
    }
    if (has_job && !display_name.empty()) return display_name;
    std::string_view part;
    if (!has_body) return part;
    each_member(headers, [&part](std::string_view name, std::string_view value) {
      if (means(name, "type")) part = named_part(name, value);
    });
    return part;
  }
};

std::string_view put_part(std::string_view body) {
  if (body.size() > kTypedBodyBytesMax || !starts_with_known_name(body)) return {};
  if (!trimmed(body).ends_with('}')) return {};
  PutMembers members;
  CheckedJson json(body);
  json.take('{');
  while (!members.is_decided() && json.peek() == '"') {
    const std::string_view name = json.take_value();
    json.take(':');
    members.take(name, json.take_value());
    json.take(',');
  }
  const std::string_view part = members.type_part();
  // Put bodies are any bytes.
  return is_utf8(part) ? part : std::string_view{};
}

}  // namespace

std::string_view find_type_part(const Job& job) {
  return job.kind == JobKind::kWorkUnit ? pushed_part(job) : put_part(job.body_view());
}

WorkUnitFormat::Type read_type_part(std::string_view part) {
  CheckedJson json(part);
  json.take(',');
  const std::string_view name = json.take_value();
  if (!json.take(':')) return {};
  WorkUnitFormat::Type type;
  std::string_view last;
  if (json.peek() == '[') {
    const Two names = take_two(json);
    if (!is_whole_string(names.first) || !is_whole_string(names.second)) return {};
    type.name = meaning_of(names.first) + '#' + meaning_of(names.second);
    last = names.second;
  } else {
    last = json.take_value();
    if (!is_whole_string(last)) return {};
    type.name = meaning_of(last);
  }
  if (means(name, "wrapped") || means(name, "arguments")) type.wrapper = kActiveJobWrapper;
  type.bytes = from_to(part, last).size();
  return type;
}

}  // namespace millrace::faktory
