#include "faktory/job/long_job.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "faktory/job/read_features.hpp"

namespace millrace::faktory {
namespace {

/// Texts up to this length are read as they are: all that the server reads are shorter, however
/// they are written. A byte can take six, as `\u0041`. So a longer one is refused as its stand-in
/// is.
constexpr std::size_t kShortTextBytes = 6 * 1024 + 2;
static_assert(kShortTextBytes >= 6 * kJidBytesMax + 2 &&
              kShortTextBytes >= 6 * kQueueNameBytesMax + 2);
constexpr std::size_t kStandInBytes = 2 * 1024;
static_assert(kStandInBytes > kJidBytesMax && kStandInBytes > kQueueNameBytesMax);

/// No member that the server knows has a longer name, whichever way it is written.
constexpr std::size_t kShortNameBytes = 128;
constexpr const char* kNameStandIn = "\"(a long name)\"";

/// What stands for a long value that begins so: it has the same type, and is as wrong as that for a
/// member that is to be short.
std::string stand_in_for(char first) {
  if (first == '[') return "[]";
  if (first == '{') return "{}";
  // No whole number.
  if (first != '"') return "0.5";
  return "\"(a text of more than " + std::to_string(kShortTextBytes) + " bytes)" +
         std::string(kStandInBytes, '.') + '"';
}

}  // namespace

void LongJob::append_or_splice(std::size_t begin, std::size_t end, bool is_name, std::string& out) {
  if (end - begin <= (is_name ? kShortNameBytes : kShortTextBytes))
    return json_.copy(begin, end, out);
  splices_.add({.offset = out.size(), .begin = begin, .end = end});
  out += is_name ? std::string(kNameStandIn) : stand_in_for(json_.piece(begin, 1).front());
}

/// The job's JSON, with stand-ins for what is long.
std::string LongJob::stand_in() {
  std::string out;
  const char* separator = "{";
  for (const Minifier::Member& member : minifier_.members()) {
    out += std::exchange(separator, ",");
    append_or_splice(member.name_begin, member.name_end, true, out);
    out += ':';
    append_or_splice(member.begin, member.end, false, out);
  }
  return minifier_.members().empty() ? "{}" : out + '}';
}

Outcome<JobMembers> LongJob::read(JobReader& reader) {
  if (const Outcome<Done> whole = minifier_.finish(); !whole) return whole.error();
  if (json_.piece(0, 1) == "n") return JobMembers{};
  Outcome<JobMembers> members = reader.read(stand_in());
  if (!members) return members;
  splices_.set_text(reader.text());
  // This one is read for what is in it, and not stored as it is.
  if (const Splices::Splice* const failure = splices_.find(members->raw_failure)) {
    if (failure->end - failure->begin > kFailureBytesMax) {
      return Problem{"member failure is longer than " + std::to_string(kFailureBytesMax) +
                     " bytes"};
    }
    json_.copy(failure->begin, failure->end, failure_);
    members->raw_failure = failure_;
  }
  if (const Splices::Splice* const custom = splices_.find(members->custom.raw)) {
    if (custom->end - custom->begin > kCustomBytesMax) {
      return Problem{"member custom is longer than " + std::to_string(kCustomBytesMax) + " bytes"};
    }
    json_.copy(custom->begin, custom->end, custom_);
    members->custom = read_custom(custom_);
  }
  return members;
}

/// As far as a unique job's arguments are looked at: one byte more tells that they are too long.
std::string_view LongJob::args_of(const JobMembers& members) {
  const Splices::Splice* const args = splices_.find(members.raw_args);
  if (args == nullptr) return members.raw_args;
  json_.copy(args->begin, std::min(args->end, args->begin + kUniqueArgsBytesMax + 1), args_);
  return args_;
}

Result<Done, RefusedJob> LongJob::make(const JobMembers& members, Time now, WallClock clock,
                                       const SecretOfLocks& secret) {
  JobMembers shown = members;
  if (!members.custom.raw.empty()) shown.raw_args = args_of(members);
  Result<NewJob, RefusedJob> job = make_bodiless_job(shown, now, clock, secret);
  if (!job) return job.error();
  job_ = std::move(*job);
  queue_ = job_.queue;
  body_ = encode_work_unit(members, splices_);
  copied_ = LongBody(body_.size);
  return Done{};
}

bool LongJob::copy_some() {
  std::size_t left = kLongStepBytes;
  while (left > 0 && part_ < body_.parts.size()) {
    const SplicedBody::Part& part = body_.parts[part_];
    const std::size_t begin = part.begin + part_at_;
    const std::size_t bytes = std::min(part.end - begin, left);
    const std::string_view some = part.is_long ? json_.piece(begin, bytes)
                                               : std::string_view(body_.text).substr(begin, bytes);
    copied_.append(some);
    left -= some.size();
    part_at_ += some.size();
    if (begin + some.size() == part.end) {
      ++part_;
      part_at_ = 0;
    }
  }
  if (part_ < body_.parts.size()) return false;
  // Its memory may be what the room is made of.
  json_ = Rope();
  if (!copied_.make_room(left)) return false;
  job_.queue = queue_;
  job_.body = copied_.view();
  job_.long_body = &copied_;
  return true;
}

}  // namespace millrace::faktory
