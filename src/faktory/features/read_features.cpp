#include "faktory/features/read_features.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/number.hpp"
#include "core/model/features/bid.hpp"
#include "core/model/features/track.hpp"
#include "core/model/queue.hpp"
#include "faktory/features/lock_key.hpp"
#include "faktory/json/checked_json.hpp"
#include "faktory/json/timestamp.hpp"

namespace millrace::faktory {
namespace {

using JobReason = RefusedJob::Reason;

/// The texts of the members of `custom` that the server knows; empty: absent, or null.
struct Asked {
  std::string_view unique_for;
  std::string_view unique_until;
  std::string_view unique_conflict;
  std::string_view expires_at;
  std::string_view expires_in;
  std::string_view track;
  std::string_view bid;

  /// Of several members with one name the last one counts.
  void take(std::string_view name, std::string_view value) {
    std::string_view* field = member(name.substr(1, name.size() - 2));
    if (field == nullptr && name.find('\\') != std::string_view::npos) {
      field = member(meaning_of(name));
    }
    if (field != nullptr) *field = value == "null" ? std::string_view{} : value;
  }

 private:
  std::string_view* member(std::string_view name) {
    if (name == "unique_for") return &unique_for;
    if (name == "unique_until") return &unique_until;
    if (name == "unique_conflict") return &unique_conflict;
    if (name == "expires_at") return &expires_at;
    if (name == "expires_in") return &expires_in;
    if (name == "track") return &track;
    if (name == "bid") return &bid;
    return nullptr;
  }
};

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

/// A number, or a string that is one. Rails writes durations as strings.
std::optional<double> seconds_of(std::string_view value) {
  if (const auto whole = parse_number<std::int32_t>(value)) return *whole;
  const std::string text = is_string(value) ? meaning_of(value) : std::string(value);
  const std::optional<double> seconds = parse_number<double>(text);
  return seconds && std::isfinite(*seconds) ? seconds : std::nullopt;
}

/// Later than what fits: the latest time that is not kNever.
Time moved_by_seconds(Time from, double seconds) {
  constexpr double kMost = 9e9;
  if (seconds >= kMost) return kNever - Duration{1};
  const Duration by = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::max(seconds, -kMost)));
  return std::min(moved_by(from, by), kNever - Duration{1});
}

using MaybeRefused = std::optional<RefusedJob>;

MaybeRefused take_lock(const Asked& asked, const JobMembers& members, Time first_run,
                       const SecretOfLocks& secret, NewJob& job) {
  // Then nothing is locked, whatever the other members say.
  if (asked.unique_for.empty()) {
    job.is_lock_without_time = !asked.unique_until.empty();
    return std::nullopt;
  }
  if (!asked.unique_until.empty()) {
    const bool is_start = means(asked.unique_until, "start");
    if (!is_start && !means(asked.unique_until, "success")) {
      return refused(JobReason::kInvalidUniqueUntil, asked.unique_until);
    }
    job.features->locks_until_start = is_start;
  }
  if (!asked.unique_conflict.empty()) {
    const bool names = means(asked.unique_conflict, "jid");
    if (!names && !means(asked.unique_conflict, "ok")) {
      return refused(JobReason::kInvalidUniqueConflict, asked.unique_conflict);
    }
    job.conflict = names ? UniqueConflict::kName : UniqueConflict::kAccept;
  }
  const std::optional<double> seconds = seconds_of(asked.unique_for);
  if (!seconds || *seconds <= 0) return refused(JobReason::kInvalidUniqueFor, asked.unique_for);
  if (members.raw_args.size() > kUniqueArgsBytesMax) {
    return RefusedJob{JobReason::kUniqueArgsTooLong, {}};
  }
  const std::string_view queue = members.queue.empty() ? kDefaultQueue : members.queue;
  job.features->lock_key = lock_key(secret(), members.jobtype, members.raw_args, queue);
  job.features->lock_ends = moved_by_seconds(first_run, *seconds);
  job.features->lock_seconds = static_cast<float>(*seconds);
  return std::nullopt;
}

MaybeRefused take_expiry(const Asked& asked, Time first_run, JobFeatures& features) {
  if (!asked.expires_at.empty() && asked.expires_at != R"("")") {
    const auto at = is_string(asked.expires_at) ? parse_time(meaning_of(asked.expires_at))
                                                : std::optional<Time>();
    if (!at) return refused(JobReason::kInvalidExpiresAt, asked.expires_at);
    // The epoch stands for a job that never expires.
    features.expires_at = std::max(*at, Time{Duration{1}});
  }
  if (asked.expires_in.empty()) return std::nullopt;
  const std::optional<double> seconds = seconds_of(asked.expires_in);
  if (!seconds) return refused(JobReason::kInvalidExpiresIn, asked.expires_in);
  const Time at = std::max(moved_by_seconds(first_run, *seconds), Time{Duration{1}});
  features.expires_at = features.expires() ? std::min(features.expires_at, at) : at;
  return std::nullopt;
}

bool is_on(std::string_view track) {
  if (track.empty() || track == "false") return false;
  if (track == "1" || track == "true" || means(track, "1")) return true;
  const std::optional<double> number = parse_number<double>(track);
  return number && *number != 0;
}

MaybeRefused take_batch(const Asked& asked, JobFeatures& features) {
  if (asked.bid.empty()) return std::nullopt;
  const auto bid = is_string(asked.bid) ? parse_bid(meaning_of(asked.bid)) : std::nullopt;
  if (!bid)
    return RefusedJob{JobReason::kNoSuchBatch, asked.bid == R"("")" ? "" : shown(asked.bid)};
  features.batch = *bid;
  return std::nullopt;
}

Asked read(std::string_view custom) {
  Asked asked;
  each_member(custom,
              [&](std::string_view name, std::string_view value) { asked.take(name, value); });
  return asked;
}

}  // namespace

bool names_batch(std::string_view custom) {
  return !read(custom).bid.empty();
}

bool asks_for_tracking(std::string_view custom) {
  return is_on(read(custom).track);
}

std::optional<RefusedJob> read_features(const JobMembers& members, Time wall,
                                        const SecretOfLocks& secret, NewJob& job) {
  if (members.raw_custom.empty()) return std::nullopt;
  const Asked asked = read(members.raw_custom);
  JobFeatures& features = job.features.emplace();
  const Time first_run = std::max(job.due, wall);
  if (MaybeRefused no = take_lock(asked, members, first_run, secret, job)) return no;
  if (MaybeRefused no = take_expiry(asked, first_run, features)) return no;
  if (MaybeRefused no = take_batch(asked, features)) return no;
  if (is_on(asked.track)) {
    features.is_tracked = 1;
    features.jid_hash = jid_hash(members.jid);
  }
  if (features == JobFeatures{}) job.features.reset();
  return std::nullopt;
}

}  // namespace millrace::faktory
