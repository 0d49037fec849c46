#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/broker/clients/client.hpp"
#include "core/model/job.hpp"
#include "core/model/queue.hpp"
#include "core/model/scan.hpp"
#include "core/model/types.hpp"
#include "core/model/worker.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// What the broker counts besides the stored totals, all queues together, since the process began.
struct Tally {
  std::uint64_t jobs_put = 0;
  std::uint64_t pushes_repeated = 0;         ///< that were sent again, and added no job
  std::uint64_t reservations_timed_out = 0;  ///< held by a connection, TTR ran out
  std::uint64_t reservations_expired = 0;    ///< held by a worker, `reserve_for` ran out
  std::uint64_t scheduled_enqueued = 0;      ///< scheduled jobs that came due
  std::uint64_t retries_enqueued = 0;        ///< retrying jobs that came due
  std::uint64_t jobs_expired = 0;            ///< `expires_at` passed before a run began
  std::uint64_t workers_reaped = 0;
  std::uint64_t bodies_unreadable = 0;   ///< jobs whose body the log did not give
  std::uint64_t jobs_lost = 0;           ///< came back, or died, since their workers were gone
  std::uint64_t dead_purged = 0;         ///< pushed jobs that were dead for too long, or too many
  std::uint64_t cron_enqueued = 0;       ///< runs of cron entries whose job was pushed
  std::uint64_t cron_refused = 0;        ///< and those whose job was refused
  std::uint64_t locks_taken = 0;         ///< by pushed jobs
  std::uint64_t locks_denied = 0;        ///< pushes of jobs whose lock another job held
  std::uint64_t locks_without_time = 0;  ///< pushed jobs that ask for one and say no time
  std::uint64_t waiting = 0;             ///< clients that wait for a job now
  std::uint64_t batches_added = 0;
  std::uint64_t batches_dropped = 0;  ///< never committed, and not used any more
  std::uint64_t batch_callbacks = 0;  ///< that were pushed
};

/// Reads the broker's state, and changes nothing that a client could see: statistics, peeking,
/// paging. The results point into that state, and are valid until the next broker operation.
///
/// A job is handed out with its body in memory. A body that only the log holds is read back for
/// that: then the call may wait for the disk, and other bodies may be spilled. One that cannot be
/// read is missing (`Job::has_body`), and the broker's next `tick` sees to the job.
/// `scan_failed_before` alone leaves bodies where they are.
class View {
 public:
  View(const Ledger& ledger, const Clients& clients, const Workers& workers, const Tally& tally)
      : ledger_(ledger), clients_(clients), workers_(workers), tally_(tally) {}

  [[nodiscard]] const Job* find(JobId id) const { return store().jobs().find_with_body(id); }
  /// Reads no body. Nullopt: there is no such job.
  [[nodiscard]] std::optional<JobState> state_of(JobId id) const {
    const Job* const job = store().jobs().find(id);
    return job == nullptr ? std::nullopt : std::optional(job->state);
  }
  /// Its runs that did not end well; null: there is none.
  [[nodiscard]] const Attempts* attempts_of(const Job& job) const {
    return store().jobs().attempts_of(job);
  }
  /// Keeps the body of a job that was handed out with it in memory, whatever becomes of the job.
  [[nodiscard]] BodyPin pin_body(const Job& job) const { return store().jobs().bodies().pin(job); }
  /// The job that holds that lock, or lends it, be its time over or not; or null.
  [[nodiscard]] const Job* find_lock_holder(const LockKey& key) const {
    const auto slot = store().jobs().locks().holder(key);
    return slot ? &store().jobs().with_body(*slot) : nullptr;
  }
  /// Up to `limit` jobs whose names have that hash (`Jobs::names`), those first that were made
  /// last. Their bodies are not read.
  [[nodiscard]] std::vector<JobId> named(std::uint32_t hash, std::size_t limit) const;
  /// What was told of the progress of this job, whose name is given; or null. The end of a job of
  /// that name is none of it.
  [[nodiscard]] const Track* progress_of(const Job& job, std::string_view jid) const {
    if (!job.features || !job.features->is_tracked) return nullptr;
    const Track* const track = store().tracks().find(jid);
    return track == nullptr || track->has_ended() ? nullptr : track;
  }
  /// Up to `limit` jobs that hold or lend a lock, after that one, in the order of `Locks::page`,
  /// until `visit` answers false.
  void page_locks(const std::optional<LockKey>& after, std::size_t limit,
                  const std::function<bool(const Job&)>& visit) const;
  /// Jobs that are dead, or die when their run ends, since their bodies could not be read.
  [[nodiscard]] std::size_t unreadable_count() const { return store().jobs().unreadable_count(); }
  [[nodiscard]] std::size_t lock_count() const { return store().jobs().locks_in_force(); }
  [[nodiscard]] std::size_t tracked_job_count() const { return store().jobs().tracked().size(); }
  [[nodiscard]] const EndedPushes& ended_pushes() const { return store().ended_pushes(); }
  [[nodiscard]] const FinishedJobs& finished() const { return store().finished(); }
  [[nodiscard]] std::size_t track_count() const { return store().tracks().size(); }
  [[nodiscard]] const Queue* find_queue(std::string_view name) const {
    return store().queues().find(name);
  }
  [[nodiscard]] const Queue& queue_of(const Job& job) const {
    return store().queues().at(job.queue);
  }

  /// For showing times, which are steady times here.
  [[nodiscard]] WallClock wall_clock() const { return store().wall_clock(); }

  [[nodiscard]] const JobBatches& batches() const { return store().batches(); }
  /// Null when there is none.
  [[nodiscard]] const JobBatch* find_batch(JobBatchId id) const { return batches().find(id); }

  /// In the order of their creation.
  void each_queue(const std::function<void(const Queue&)>& visit) const;
  /// Up to `limit` of them, from place `begin` in that order and before place `end`. Answers the
  /// place to go on from, `end` when there are no more.
  std::uint64_t page_queues(std::uint64_t begin, std::uint64_t end, std::size_t limit,
                            const std::function<void(const Queue&)>& visit) const;
  /// The place after all that are there now.
  [[nodiscard]] std::uint64_t queues_end() const { return store().queues().next_creation(); }
  /// Those that are kept or have a ready job, in no order; looks at no others.
  void each_listed_queue(const std::function<void(const Queue&)>& visit) const;
  [[nodiscard]] std::size_t queue_count() const { return store().queues().by_creation().size(); }

  [[nodiscard]] std::uint64_t job_count(JobState state) const {
    return store().orders().count(state);
  }
  [[nodiscard]] std::uint64_t urgent_count() const { return store().orders().urgent_count(); }
  [[nodiscard]] std::uint64_t worker_held_count() const {
    return store().orders().worker_held_count();
  }

  /// The first job of a queue's order, or null.
  [[nodiscard]] const Job* first_ready(const Queue& queue) const;
  [[nodiscard]] const Job* first_delayed(const Queue& queue) const;
  [[nodiscard]] const Job* first_dead(const Queue& queue) const;

  using JobVisitor = std::function<void(const Job&)>;

  /// Up to `limit` jobs in `state`, all queues, in the order of (`Job::steady_when`, id), strictly
  /// after the cursor. Ready jobs have no such order: they are paged by queue.
  struct Cursor {
    Time when = Time::min();
    JobId id = 0;
  };
  void page(JobState state, Cursor after, std::size_t limit, const JobVisitor& visit) const;

  /// Up to `limit` ready jobs of a queue, in the order of (pri, sequence), strictly after the
  /// cursor.
  struct ReadyCursor {
    Pri pri = 0;
    Sequence sequence = 0;
  };
  void page_ready(const Queue& queue, ReadyCursor after, std::size_t limit,
                  const JobVisitor& visit) const;

  /// Walks the jobs of an order that come after `after` (nullopt: from its beginning), until
  /// `visit` answers false or it has looked at `steps_max` of them; skipped ones count.
  using ScanVisitor = std::function<bool(const Job&)>;
  [[nodiscard]] ScanEnd scan(const ScanOrder& order, std::optional<ScanPlace> after,
                             std::size_t steps_max, const ScanVisitor& visit) const;
  /// The same over the jobs that have failed and are neither retrying nor dead, by their first
  /// failure. Their bodies may be in the log only.
  [[nodiscard]] ScanEnd scan_failed_before(std::optional<ScanPlace> after, std::size_t steps_max,
                                           const JobVisitor& visit) const;
  [[nodiscard]] std::uint64_t failed_before_count() const {
    return store().orders().failed_before().size();
  }
  /// How many jobs a whole walk looks at, about.
  [[nodiscard]] std::uint64_t scan_length(const ScanOrder& order) const;

  /// Since when the job that has been ready for longest is so: exact among those that are first of
  /// their priority, of which up to `kPrioritiesLookedAt` are looked at. kNever: none is ready.
  [[nodiscard]] Time oldest_ready(const Queue& queue) const;

  /// Up to `limit` connections with an id above `after`, in the order of their ids.
  void page_clients(ClientId after, std::size_t limit,
                    const std::function<void(const Client&)>& visit) const;
  [[nodiscard]] std::size_t client_count() const { return clients_.size(); }
  /// How many jobs the connection holds.
  [[nodiscard]] std::size_t held_count(ClientId client) const;
  /// The one that a client's list of watched queues means.
  [[nodiscard]] const Queue& queue(QueueId id) const { return store().queues().at(id); }

  /// What a connection uses (null: nothing) and watches, in the order of watching.
  [[nodiscard]] const Queue* used_queue(ClientId client) const;
  void each_watched(ClientId client, const std::function<void(const Queue&)>& visit) const;

  [[nodiscard]] const Workers& workers() const { return workers_; }
  /// Up to `limit` workers that serve the queue, by wid.
  void each_server(const Queue& queue, std::size_t limit, Time now,
                   const std::function<void(const Worker&)>& visit) const;
  /// The worker that the connection speaks for, or null.
  [[nodiscard]] const Worker* worker_of(ClientId client) const;

  /// Up to `limit` throttled queues with names after `after`, by name. Also told are those whose
  /// limits are stored though the queue is not there: these have no `Throttle::queue`.
  void page_throttles(std::string_view after, std::size_t limit,
                      const std::function<void(const Throttle&)>& visit) const;
  [[nodiscard]] std::size_t throttle_count() const {
    return store().throttles().table().by_name().size();
  }
  /// The rules of the configuration.
  [[nodiscard]] const std::vector<ThrottleRule>& throttle_rules() const {
    return store().throttles().rules().list;
  }
  /// The rule that holds for a queue for which no operator sets limits; or null.
  [[nodiscard]] const ThrottleRule* throttle_rule_of(std::string_view queue) const {
    const ThrottleRules& rules = store().throttles().rules();
    return rules.find ? rules.find(queue) : nullptr;
  }
  /// The limits of a queue, as for `page_throttles`; null: it has none.
  [[nodiscard]] const Throttle* throttle_of(std::string_view queue) const {
    return store().throttles().table().find(queue);
  }
  /// What is remembered of cron entries, those included that no config file has any more.
  [[nodiscard]] const CronEntries& cron() const { return store().cron(); }

  [[nodiscard]] const Tally& tally() const { return tally_; }
  [[nodiscard]] const CountersChanged& counters() const { return ledger_.counters(); }
  /// Since the process began, those included that were written once more.
  [[nodiscard]] std::uint64_t records_written() const { return ledger_.records_written(); }
  /// Jobs that compaction wrote once more since the process began.
  [[nodiscard]] std::uint64_t jobs_rewritten() const { return ledger_.jobs_rewritten(); }
  /// The days before the one that `counters` is about, oldest first.
  [[nodiscard]] const std::vector<DayCounts>& history() const { return ledger_.history(); }

 private:
  [[nodiscard]] const Store& store() const { return ledger_.store(); }

  const Ledger& ledger_;
  const Clients& clients_;
  const Workers& workers_;
  const Tally& tally_;
};

/// See `View::oldest_ready`.
inline constexpr std::size_t kPrioritiesLookedAt = 16;

}  // namespace millrace
