#include "faktory/job/work_unit.hpp"

#include <optional>
#include <utility>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "base/text_map.hpp"
#include "base/varint.hpp"
#include "faktory/features/custom.hpp"
#include "faktory/features/lock_key.hpp"
#include "faktory/features/retry_delays.hpp"
#include "faktory/job/failed_run.hpp"
#include "faktory/job/shown_type.hpp"
#include "faktory/job/stored_form.hpp"
#include "faktory/json/checked_json.hpp"
#include "faktory/json/text.hpp"
#include "faktory/json/timestamp.hpp"

namespace millrace::faktory {
namespace {

/// nullopt: the job was put, or its body is damaged.
std::optional<StoredForm> stored_form_of(const Job& job) {
  if (job.kind != JobKind::kWorkUnit) return std::nullopt;
  return decode_work_unit(job.body_view());
}

void append_time_member(std::string_view start, std::string_view time, std::string& out) {
  out += start;
  out += '"';
  out += time;
  out += '"';
}

/// Appends created_at, unless it is stored, and enqueued_at. Most jobs were ready when they were
/// created: then both are the same, and it is formatted once.
void append_times(const StoredForm& form, const Job& job, WallClock clock, std::string& out) {
  std::string time;
  if (form.created_at() == form.head.size()) {
    append_time(clock.shown(job.created_at), time);
    append_time_member(kCreatedStart, time, out);
  }
  if (job.enqueued_at == Time{}) return;
  if (time.empty() || job.enqueued_at != job.created_at) {
    time.clear();
    append_time(clock.shown(job.enqueued_at), time);
  }
  append_time_member(R"(,"enqueued_at":)", time, out);
}

/// A job, and how it is to be shown.
struct Shown {
  const Job& job;
  std::string_view queue;
  WallClock clock;
  bool is_whole = false;  ///< with the members that the server does not know
};

/// What the members of a form are appended to: one text,
struct WholeJob {
  std::string& out;

  void add(std::string_view part) { out += part; }
  std::string& text() { return out; }
};

/// or one whose long parts stay in the body.
class LongJobText {
 public:
  explicit LongJobText(TextOwner body) : body_(std::move(body)) {}

  void add(std::string_view part) {
    if (part.size() <= kShortPartBytes) {
      text_ += part;
      return;
    }
    end_text();
    job_.add(part, body_);
  }
  std::string& text() { return text_; }

  LongText take() {
    end_text();
    return std::move(job_);
  }

 private:
  static constexpr std::size_t kShortPartBytes = 4 * 1024;

  void end_text() { job_.add(std::exchange(text_, {})); }

  TextOwner body_;
  std::string text_;
  LongText job_;
};

template <typename Out>
void append_form(const StoredForm& form, const Shown& shown, Out&& out) {
  // The members are in the order of the reference.
  out.add(form.until_retry);
  if (const Failure* failure = shown.job.failure()) {
    out.text() += R"(,"failure":)";
    append_failure(*failure, shown.clock, out.text());
  }
  out.add(form.until_jid);
  out.text() += R"(,"queue":)";
  append_json_string(shown.queue, out.text());
  out.add(form.head);
  append_times(form, shown.job, shown.clock, out.text());
  if (shown.is_whole || form.unknown_bytes == 0) return out.add(form.rest);
  out.add(form.rest.substr(0, form.rest.size() - form.unknown_bytes));
  out.text() += '}';
}

std::string fallback_jid(JobId id) {
  return "beanstalk-" + std::to_string(id);
}

/// The members of a body that is a work unit: an object with a jobtype and args.
std::optional<JobMembers> read_body(JobReader& reader, std::string_view body) {
  // It is read in one step, in which all other clients wait.
  if (body.size() > WorkUnitFormat::kLongBodyBytes) return std::nullopt;
  // A cheap look, which most bodies that are no work unit do not pass.
  if (!trimmed(body).starts_with('{')) return std::nullopt;
  const Outcome<JobMembers> members = reader.read(body);
  if (!members || members->jobtype.empty() || members->raw_args.empty()) return std::nullopt;
  return *members;
}

/// Members that are made up for a job that was put. The members of a shown job may point into them.
struct Substitutes {
  std::string raw_jid;
  std::string raw_args;
};

bool brings_jid(const JobMembers& members) {
  return !members.jid.empty() && members.jid.size() <= kJidBytesMax;
}

/// Of a job that was put: its own jid, where its body is a work unit that brings one.
std::string jid_of_put(JobId id, const std::optional<JobMembers>& members) {
  return members && brings_jid(*members) ? std::string(members->jid) : fallback_jid(id);
}

JobMembers wrapped(std::string_view body, Substitutes& substitutes) {
  JobMembers members;
  const bool is_text = is_utf8(body);
  members.raw_jobtype = R"("beanstalk")";
  // JSON holds no other bytes. The worker is told how to get them back.
  if (!is_text) members.custom.raw = R"({"encoding":"base64"})";
  substitutes.raw_args = '[';
  append_json_string(is_text ? body : base64(body), substitutes.raw_args);
  substitutes.raw_args += ']';
  members.raw_args = substitutes.raw_args;
  return members;
}

// No string in a body has these bytes: its quotes have backslashes before them.
constexpr std::string_view kArgsStart = R"("args":)";

/// A summary reads a body that was put only up to this size, since a page shows many summaries.
constexpr std::size_t kSummaryBodyBytesMax = 16 * 1024;

/// The end of the JSON value that `json` begins with, or the end of `json` if that comes first.
std::size_t end_of_value(std::string_view json) {
  int depth = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_in_string) {
      if (c == '\\') ++i;
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if ((c == ']' || c == '}') && --depth == 0) {
      return i + 1;
    }
  }
  return json.size();
}

void set_args(std::string_view args, std::size_t bytes_max, WorkUnitFormat::Summary& summary) {
  // Cut before it is searched: args may be megabytes.
  const std::string_view shown = cut(args, bytes_max);
  const std::size_t end = end_of_value(shown);
  summary.is_cut = end == shown.size() && args.size() > shown.size();
  summary.args = summary.is_cut ? without_broken_escape(shown) : shown.substr(0, end);
}

/// `at`, if it is there, and `args`: the first members of `rest`.
std::string_view at_and_args(std::string_view rest) {
  const std::size_t args = rest.find(kArgsStart);
  if (args == std::string_view::npos) return rest;
  const std::size_t begin = args + kArgsStart.size();
  return rest.substr(0, begin + end_of_value(rest.substr(begin)));
}

/// The jobtype as it was sent, with its name.
std::string_view raw_type_of(const StoredForm& form) {
  return form.head.substr(0, form.created_at());
}

/// Also from `rest`, whose first or second member is `args`.
void summarize_form(const StoredForm& form, std::size_t args_bytes_max,
                    WorkUnitFormat::Summary& summary) {
  summary.jid = meaning_of(form.raw_jid);
  const std::size_t args = form.rest.find(kArgsStart);
  if (args != std::string_view::npos) {
    set_args(form.rest.substr(args + kArgsStart.size()), args_bytes_max, summary);
  }
}

}  // namespace

WorkUnitFormat::Identity WorkUnits::identify(const Job& job) const {
  if (const std::optional<StoredForm> form = stored_form_of(job)) {
    return {.jid = meaning_of(form->raw_jid), .retry = form->retry};
  }
  const std::optional<JobMembers> members = read_body(reader_, job.body_view());
  Identity identity{.jid = jid_of_put(job.id, members), .retry = kRetryDefault};
  if (members) identity.retry = members->retry.value_or(kRetryDefault);
  reader_.shrink();
  return identity;
}

std::vector<std::uint32_t> WorkUnits::retry_delays(const Job& job) {
  constexpr std::string_view kCustomStart = R"(,"custom":)";
  const auto delays_of = [](const Custom& custom) {
    return read_retry_delays(custom.retry_delays).value_or(std::vector<std::uint32_t>{});
  };
  if (job.kind != JobKind::kWorkUnit) {
    JobReader reader;
    const std::optional<JobMembers> members = read_body(reader, job.body_view());
    return members ? delays_of(members->custom) : std::vector<std::uint32_t>{};
  }
  const std::optional<StoredForm> form = stored_form_of(job);
  if (!form || !form->until_jid.starts_with(kCustomStart)) return {};
  CheckedJson custom(form->until_jid.substr(kCustomStart.size()));
  return delays_of(read_custom(custom.take_value()));
}

WorkUnitFormat::Summary WorkUnits::summarize(const Job& job, std::size_t args_bytes_max) const {
  Summary summary;
  if (const std::optional<StoredForm> form = stored_form_of(job)) {
    summary.type = type_of(job).name;
    summarize_form(*form, args_bytes_max, summary);
    return summary;
  }
  const std::string_view body = job.body_view();
  summary.jid = fallback_jid(job.id);
  summary.is_work_unit = false;
  // A damaged body has no type that anybody should believe.
  if (job.kind == JobKind::kBytes) summary.type = type_of(job).name;
  if (summary.type.empty()) summary.type = "beanstalk";
  summary.args = cut(body, args_bytes_max);
  summary.is_cut = body.size() > args_bytes_max;
  // It is shown as plain bytes then, like any other body.
  if (body.size() > kSummaryBodyBytesMax) return summary;
  if (const std::optional<JobMembers> members = read_body(reader_, body)) {
    summary.jid = jid_of_put(job.id, members);
    summary.is_work_unit = true;
    set_args(members->raw_args, args_bytes_max, summary);
  }
  return summary;
}

// Of a body only the first numbers and the jid are read: it is done for each job that comes.
std::uint32_t WorkUnits::name_hash(std::string_view body) const {
  const std::string_view raw = raw_jid_of(body);
  if (raw.empty()) return 0;
  const std::string_view inside = raw.substr(1, raw.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return hash_of_name(inside);
  return hash_of_name(meaning_of(raw));
}

std::uint32_t WorkUnits::name_hash_of_put(JobId id, std::string_view body) const {
  const std::string jid = jid_of_put(id, read_body(reader_, body));
  reader_.shrink();
  return hash_of_name(jid);
}

std::uint32_t WorkUnits::hash_of_name(std::string_view jid) const {
  const auto hash = static_cast<std::uint32_t>(TextHash{}(jid));
  return hash == 0 ? 1 : hash;
}

std::string_view WorkUnits::type_part(const Job& job) const {
  return find_type_part(job);
}

WorkUnitFormat::Type WorkUnits::read_type(std::string_view part) const {
  return read_type_part(part);
}

std::string_view WorkUnits::name_part(const Job& job) const {
  const std::string_view part = type_part(job);
  const bool is_pushed = job.kind == JobKind::kWorkUnit;
  // Nearly always the type is the jobtype, and both are in the body side by side.
  if (is_pushed && !part.starts_with('"')) return jid_and_head_of(job.body_view());
  if (part.empty()) return part;
  name_.clear();
  if (is_pushed) name_ = raw_jid_of(job.body_view());
  if (!is_pushed) append_json_string(fallback_jid(job.id), name_);
  name_ += kTypeStart;
  append_json_string(read_type(part).name, name_);
  return name_;
}

WorkUnitFormat::Name WorkUnits::read_name(std::string_view part) const {
  StoredForm form;
  form.raw_jid = part.substr(0, part.find(kTypeStart));
  if (form.raw_jid.size() < 2) return {};
  form.head = part.substr(form.raw_jid.size());
  return {.jid = meaning_of(form.raw_jid), .jobtype = read_type(form.head).name};
}

bool WorkUnits::is_same(const Job& job, std::string_view body) const {
  const std::optional<StoredForm> known = stored_form_of(job);
  const std::optional<StoredForm> pushed = decode_work_unit(body);
  if (!known || !pushed || known->raw_jid != pushed->raw_jid) return false;
  if (raw_type_of(*known) != raw_type_of(*pushed)) return false;
  // Most clients that push a job again send what they sent before.
  if (known->rest == pushed->rest) return true;
  // Arguments are not looked for in what is long, since all clients wait.
  if (std::max(job.body_view().size(), body.size()) > kComparedBytesMax) return false;
  return at_and_args(known->rest) == at_and_args(pushed->rest);
}

std::optional<KeyedHash> WorkUnits::push_key(std::string_view body, const PushTarget& target,
                                             const LockSecret& secret) const {
  if (body.size() > kLongBodyBytes) return std::nullopt;
  const std::optional<StoredForm> form = decode_work_unit(body);
  if (!form) return std::nullopt;
  // As `is_same`: what is long counts with all that follows its arguments.
  const std::string_view rest =
      body.size() > kComparedBytesMax ? form->rest : at_and_args(form->rest);
  std::string text;
  append_varint(target.batch, text);
  // With its length each: so no two lists of texts give the same bytes.
  for (const std::string_view each : {target.queue, form->raw_jid, raw_type_of(*form), rest}) {
    append_varint(each.size(), text);
    text += each;
  }
  return keyed_hash(secret, text);
}

namespace {

void render_shown(const Shown& shown, JobReader& reader, std::string& out) {
  const Job& job = shown.job;
  if (const std::optional<StoredForm> form = stored_form_of(job)) {
    append_form(*form, shown, WholeJob{out});
    return;
  }
  Substitutes substitutes;
  std::optional<JobMembers> members = read_body(reader, job.body_view());
  if (!members) members = wrapped(job.body_view(), substitutes);
  if (!brings_jid(*members)) {
    append_json_string(fallback_jid(job.id), substitutes.raw_jid);
    members->raw_jid = substitutes.raw_jid;
  }
  // How long the reservation really lasts. The Rust client cannot read a job without it.
  if (members->reserve_for == 0) members->reserve_for = job.ttr_s;
  std::string body;
  encode_work_unit(*members, body);
  reader.shrink();
  if (const auto form = decode_work_unit(body)) append_form(*form, shown, WholeJob{out});
}

std::optional<LongText> render_shown_long(const Shown& shown, const TextOwner& body) {
  const std::optional<StoredForm> form = stored_form_of(shown.job);
  if (!form) return std::nullopt;
  LongJobText text(body);
  append_form(*form, shown, text);
  return text.take();
}

}  // namespace

void WorkUnits::render(const Job& job, std::string_view queue, WallClock clock,
                       std::string& out) const {
  render_shown({.job = job, .queue = queue, .clock = clock}, reader_, out);
}

std::optional<LongText> WorkUnits::render_long(const Job& job, std::string_view queue,
                                               WallClock clock, const TextOwner& body) const {
  return render_shown_long({.job = job, .queue = queue, .clock = clock}, body);
}

void WorkUnits::render_whole(const Job& job, std::string_view queue, WallClock clock,
                             std::string& out) const {
  render_shown({.job = job, .queue = queue, .clock = clock, .is_whole = true}, reader_, out);
}

std::optional<LongText> WorkUnits::render_whole_long(const Job& job, std::string_view queue,
                                                     WallClock clock, const TextOwner& body) const {
  return render_shown_long({.job = job, .queue = queue, .clock = clock, .is_whole = true}, body);
}

}  // namespace millrace::faktory
