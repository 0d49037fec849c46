#include "faktory/job/failed_run.hpp"

#include <utility>

#include "base/text.hpp"
#include "faktory/json/object_reader.hpp"
#include "faktory/json/text.hpp"
#include "faktory/json/timestamp.hpp"

namespace millrace::faktory {
namespace {

std::string cleaned_text(std::string_view text, std::size_t bytes_max) {
  text = trimmed(text);
  // As the reference stores it.
  if (text.empty()) return "unknown";
  // Cut first, since a cut may split a character.
  return valid_utf8(text.substr(0, bytes_max));
}

struct FailureMembers {
  Failure failure;
  std::string failed_at;
  std::string next_at;
  FailedRun run;

  bool take(std::string_view name, const MemberValue& value) {
    const auto is = [&](std::string_view lower) { return equals_ignoring_case(name, lower); };
    if (is("retry_count")) return take_integer(value, failure.retry_count);
    if (is("remaining")) return take_integer(value, failure.remaining);
    if (is("failed_at")) return take_text(value, failed_at);
    if (is("next_at")) return take_text(value, next_at);
    if (is("message")) return take_text(value, run.message);
    if (is("errtype")) return take_text(value, run.errtype);
    if (is("backtrace")) return take_strings(value, run.backtrace);
    return true;
  }
};

constexpr std::string_view kReleaseName = "MillraceRelease";

void append_member(std::string_view name, std::string_view text, std::string& out) {
  out += name;
  append_json_string(text, out);
}

}  // namespace

FailedRun cleaned(FailedRun run) {
  run.errtype = cleaned_text(run.errtype, kErrtypeBytesMax);
  run.message = cleaned_text(run.message, kMessageBytesMax);
  if (run.backtrace.size() > kBacktraceLinesMax) run.backtrace.resize(kBacktraceLinesMax);
  for (std::string& entry : run.backtrace) {
    entry = valid_utf8(std::string_view(entry).substr(0, kBacktraceEntryBytesMax));
  }
  return run;
}

bool is_release(const FailedRun& run, bool is_terminating) {
  const std::size_t module = run.errtype.find_last_of(".:\\/");
  const std::size_t name = module == std::string::npos ? 0 : module + 1;
  if (std::string_view(run.errtype).substr(name) == kReleaseName) return true;
  // faktory_worker_ruby
  if (run.errtype == "Faktory::Shutdown") return true;
  // The Rust library has one errtype for all errors of jobs too. One of its threads may still wait
  // for a job, and would get this one again, unless the worker was told to stop.
  if (run.errtype != "unknown" || !run.backtrace.empty() || !is_terminating) return false;
  return run.message == "termination signal received from user space" ||
         run.message == "terminated";
}

Outcome<Failure> parse_failure(std::string_view json, Time now, WallClock clock) {
  FailureMembers members;
  const auto take = [&](std::string_view name, const MemberValue& value) {
    return members.take(name, value);
  };
  if (read_object(json, take) != ObjectShape::kObject) {
    return Problem{"member failure is not a failure object"};
  }
  FailedRun run = cleaned(std::move(members.run));
  Failure failure = members.failure;
  // A bad time is no reason to refuse a job that was moved from another server.
  const auto failed_at = parse_time(members.failed_at);
  failure.failed_at = failed_at ? clock.steady(*failed_at) : now;
  failure.next_at = clock.steady(parse_time(members.next_at).value_or(Time{}));
  failure.errtype = std::move(run.errtype);
  failure.message = std::move(run.message);
  failure.backtrace = std::move(run.backtrace);
  return failure;
}

void append_failure(const Failure& failure, WallClock clock, std::string& out) {
  out += R"({"failed_at":")";
  append_time(clock.shown(failure.failed_at), out);
  if (failure.next_at != Time{}) {
    out += R"(","next_at":")";
    append_time(clock.shown(failure.next_at), out);
  }
  out += '"';
  append_member(R"(,"message":)", failure.message, out);
  append_member(R"(,"errtype":)", failure.errtype, out);
  const char* separator = R"(,"backtrace":[)";
  for (const std::string& entry : failure.backtrace) {
    append_member(std::exchange(separator, ","), entry, out);
  }
  if (!failure.backtrace.empty()) out += ']';
  out += R"(,"retry_count":)" + std::to_string(failure.retry_count);
  out += R"(,"remaining":)" + std::to_string(failure.remaining);
  out += '}';
}

}  // namespace millrace::faktory
