#include "faktory/job/read_features.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "base/number.hpp"
#include "core/model/features/bid.hpp"
#include "core/model/features/track.hpp"
#include "core/model/queue.hpp"
#include "faktory/features/retry_delays.hpp"
#include "faktory/json/checked_json.hpp"
#include "faktory/json/timestamp.hpp"

namespace millrace::faktory {
namespace {

using JobReason = RefusedJob::Reason;

bool is_string(std::string_view value) {
  return value.starts_with('"');
}

/// What is shown of a value in a refusal: of a string what it means.
std::string shown(std::string_view value) {
  if (value == R"("")") return std::string(value);
  std::string text = is_string(value) ? meaning_of(value) : std::string(value);
  return text.substr(0, kEchoedValueBytes);
}

RefusedJob refused(JobReason reason, std::string_view value) {
  return {reason, shown(value)};
}

/// Some clients write every value as a string.
std::string unquoted(std::string_view value) {
  return is_string(value) ? meaning_of(value) : std::string(value);
}

std::optional<double> finite_number(const std::string& text) {
  const std::optional<double> number = parse_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

/// A number, or a string that is one. Rails writes durations as strings.
std::optional<double> seconds_of(std::string_view value) {
  if (const auto whole = parse_number<std::int32_t>(value)) return *whole;
  return finite_number(unquoted(value));
}

/// True, false, a number, or a string that is one of these. nullopt: it makes no sense.
std::optional<bool> switch_of(std::string_view value) {
  if (value.empty()) return false;
  if (value == "1") return true;
  const std::string text = unquoted(value);
  if (text == "true" || text == "false") return text == "true";
  const std::optional<double> number = finite_number(text);
  return number ? std::optional(*number != 0) : std::nullopt;
}

/// 285 years: more is as much, and fits neither into a Time nor, at last, into a float.
constexpr double kSecondsMost = 9e9;

/// Later than what fits: the latest time that is not kNever.
Time moved_by_seconds(Time from, double seconds) {
  if (seconds >= kSecondsMost) return kNever - Duration{1};
  const Duration by = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::max(seconds, -kSecondsMost)));
  return std::min(moved_by(from, by), kNever - Duration{1});
}

using MaybeRefused = std::optional<RefusedJob>;

MaybeRefused take_lock(const Custom& custom, const JobMembers& members, Time first_run,
                       const SecretOfLocks& secret, NewJob& job) {
  // Then nothing is locked, whatever the other members say.
  if (custom.unique_for.empty()) {
    job.is_lock_without_time = !custom.unique_until.empty();
    return std::nullopt;
  }
  if (!custom.unique_until.empty()) {
    const bool is_start = means(custom.unique_until, "start");
    if (!is_start && !means(custom.unique_until, "success")) {
      return refused(JobReason::kInvalidUniqueUntil, custom.unique_until);
    }
    job.features->locks_until_start = is_start;
  }
  if (!custom.unique_conflict.empty()) {
    const bool names = means(custom.unique_conflict, "jid");
    if (!names && !means(custom.unique_conflict, "ok")) {
      return refused(JobReason::kInvalidUniqueConflict, custom.unique_conflict);
    }
    job.conflict = names ? UniqueConflict::kName : UniqueConflict::kAccept;
  }
  const std::optional<double> seconds = seconds_of(custom.unique_for);
  if (!seconds || *seconds <= 0) return refused(JobReason::kInvalidUniqueFor, custom.unique_for);
  if (members.raw_args.size() > kUniqueArgsBytesMax) {
    return RefusedJob{JobReason::kUniqueArgsTooLong, {}};
  }
  const std::string_view queue = members.queue.empty() ? kDefaultQueue : members.queue;
  job.features->lock_key = lock_key(secret(), members.jobtype, members.raw_args, queue);
  job.features->lock_ends = moved_by_seconds(first_run, *seconds);
  job.features->lock_seconds = static_cast<float>(std::min(*seconds, kSecondsMost));
  return std::nullopt;
}

MaybeRefused take_expiry(const Custom& custom, Time first_run, JobFeatures& features) {
  if (!custom.expires_at.empty() && custom.expires_at != R"("")") {
    const auto at = is_string(custom.expires_at) ? parse_time(meaning_of(custom.expires_at))
                                                 : std::optional<Time>();
    if (!at) return refused(JobReason::kInvalidExpiresAt, custom.expires_at);
    // The epoch stands for a job that never expires.
    features.expires_at = std::max(*at, Time{Duration{1}});
  }
  if (custom.expires_in.empty()) return std::nullopt;
  const std::optional<double> seconds = seconds_of(custom.expires_in);
  if (!seconds) return refused(JobReason::kInvalidExpiresIn, custom.expires_in);
  const Time at = std::max(moved_by_seconds(first_run, *seconds), Time{Duration{1}});
  features.expires_at = features.expires() ? std::min(features.expires_at, at) : at;
  return std::nullopt;
}

MaybeRefused take_track(const Custom& custom, std::string_view jid, JobFeatures& features) {
  const std::optional<bool> is_on = switch_of(custom.track);
  if (!is_on) return refused(JobReason::kInvalidTrack, custom.track);
  if (!*is_on) return std::nullopt;
  features.is_tracked = 1;
  features.jid_hash = jid_hash(jid);
  return std::nullopt;
}

MaybeRefused take_batch(const Custom& custom, JobFeatures& features) {
  const auto bid = is_string(custom.bid) ? parse_bid(meaning_of(custom.bid)) : std::nullopt;
  if (!bid)
    return RefusedJob{JobReason::kNoSuchBatch, custom.bid == R"("")" ? "" : shown(custom.bid)};
  features.batch = *bid;
  return std::nullopt;
}

/// A string, or a number as it is written: the ids of tenants are often numbers.
MaybeRefused take_key(const Custom& custom, JobFeatures& features) {
  const std::string_view value = custom.throttle_key;
  if (value == R"("")") return std::nullopt;
  const bool is_number = value.front() == '-' || (value.front() >= '0' && value.front() <= '9');
  if (!is_string(value) && !is_number) return refused(JobReason::kInvalidThrottleKey, value);
  std::string key = is_string(value) ? meaning_of(value) : std::string(value);
  if (key.size() > kThrottleKeyBytesMax) return RefusedJob{JobReason::kThrottleKeyTooLong, {}};
  features.throttle_key = std::move(key);
  return std::nullopt;
}

}  // namespace

bool asks_for_tracking(const Custom& custom) {
  return switch_of(custom.track).value_or(false);
}

std::optional<RefusedJob> read_features(const JobMembers& members, Time wall,
                                        const SecretOfLocks& secret, NewJob& job) {
  const Custom& custom = members.custom;
  if (custom.raw.empty()) return std::nullopt;
  JobFeatures& features = job.features.emplace();
  const Time first_run = std::max(job.due, wall);
  if (MaybeRefused no = take_lock(custom, members, first_run, secret, job)) return no;
  if (MaybeRefused no = take_expiry(custom, first_run, features)) return no;
  // Few jobs have these members, and the others pay nothing for them.
  if (!custom.bid.empty()) {
    if (MaybeRefused no = take_batch(custom, features)) return no;
  }
  if (!custom.throttle_key.empty()) {
    if (MaybeRefused no = take_key(custom, features)) return no;
  }
  if (!custom.retry_delays.empty() && !read_retry_delays(custom.retry_delays)) {
    return refused(JobReason::kInvalidRetryDelays, custom.retry_delays);
  }
  if (!custom.track.empty()) {
    if (MaybeRefused no = take_track(custom, members.jid, features)) return no;
  }
  if (!features.wants_lock() && features == JobFeatures{}) job.features.reset();
  return std::nullopt;
}

}  // namespace millrace::faktory
