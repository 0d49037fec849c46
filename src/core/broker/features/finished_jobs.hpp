#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "core/model/features/job_features.hpp"
#include "core/model/job.hpp"
#include "core/model/queue.hpp"
#include "core/ports/work_unit.hpp"

namespace millrace {

/// What is remembered of a job that has ended.
struct FinishedJob {
  JobId id = 0;
  JobKind kind = JobKind::kBytes;
  JobEnd how = JobEnd::kGone;
  std::uint32_t reserves = 0;  ///< how often it was reserved
  ClientId client = 0;         ///< the connection that held it at its end; 0: none did
  Time created_at{};
  Time enqueued_at{};
  Time began_at{};  ///< of its last run, if it ended in one; else the epoch
  Time ended_at{};
  std::string queue;
  std::string wid;  ///< the worker that held it at its end, or empty
  /// `WorkUnitFormat::name_part` of a pushed job. Empty: its body was in the log only, or the part
  /// is longer than `FinishedJobs::kNameBytesMax`.
  std::string name;
  std::string jid;  ///< by which its worker knew it, where `name` is empty
};

/// The jobs that ended last, in memory only. It is written for each job that ends, and read by
/// people. The strings of an entry are used again, so a full ring allocates nothing.
class FinishedJobs {
 public:
  struct Limits {
    std::size_t jobs_max = 10'000;  ///< 0: nothing is remembered
    Duration age_max = 24h;         ///< what ended earlier is not shown

    bool operator==(const Limits&) const = default;
  };
  static constexpr std::size_t kJobsMax = 1'000'000;
  static constexpr Duration kAgeMax = 365 * 24h;
  static constexpr std::size_t kNameBytesMax = 600;

  /// `format` outlives this.
  FinishedJobs(const WorkUnitFormat& format, Limits limits) : format_(format), limits_(limits) {}

  /// The job is still there, and about to be removed from `queue`.
  void note(const Job& job, const Queue& queue, JobEnd how, Time now);

  /// A position: how many had ended when the job did. The job that ended first has 1.
  using Number = std::uint64_t;
  using Visitor = std::function<bool(Number, const FinishedJob&)>;

  /// Visits those that ended before the one of that number, the latest first, until `visit` answers
  /// false or all were visited.
  void each_before(Number number, Time now, const Visitor& visit) const;
  /// The number for `each_before` to begin with the latest.
  [[nodiscard]] Number end() const { return noted_ + 1; }

  /// Null: it is not remembered.
  [[nodiscard]] const FinishedJob* find(JobId id, Time now) const;
  /// Up to `limit` pushed jobs whose jids have that hash (`WorkUnitFormat::hash_of_name`), the
  /// latest first.
  void each_named(std::uint32_t hash, std::size_t limit, Time now,
                  const std::function<void(const FinishedJob&)>& visit) const;

  /// Those included that are too old to be shown.
  [[nodiscard]] std::size_t size() const { return jobs_.size(); }
  [[nodiscard]] const Limits& limits() const { return limits_; }

 private:
  [[nodiscard]] std::size_t place_of(Number number) const {
    return (number - 1) % limits_.jobs_max;
  }
  [[nodiscard]] bool is_shown(const FinishedJob& job, Time now) const {
    return now - job.ended_at <= limits_.age_max;
  }

  const WorkUnitFormat& format_;
  const Limits limits_;
  Number noted_ = 0;
  // Rings of one length. The last two are what is searched, without a look at the jobs.
  std::deque<FinishedJob> jobs_;
  std::deque<JobId> ids_;
  std::deque<std::uint32_t> hashes_;
};

}  // namespace millrace
