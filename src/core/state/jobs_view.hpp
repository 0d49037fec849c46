#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/model/features/attempt.hpp"
#include "core/model/features/track.hpp"
#include "core/model/job.hpp"
#include "core/model/queue.hpp"
#include "core/model/scan.hpp"
#include "core/model/types.hpp"
#include "core/state/store.hpp"

namespace millrace {

/// Reads jobs one by one, by page and by walks, and changes nothing that a client could see. The
/// results point into the store, and are valid until it changes.
///
/// A job is handed out with its body in memory. A body that only the log holds is read back for
/// that: then the call may wait for the disk, and other bodies may be spilled. One that cannot be
/// read is missing (`Job::has_body`), and the broker's next `tick` sees to the job.
class JobsView {
 public:
  /// `store` outlives this.
  explicit JobsView(const Store& store) : store_(store) {}

  [[nodiscard]] const Job* find(JobId id) const { return store_.jobs().find_with_body(id); }
  /// As it is in memory: only the log may hold its body.
  [[nodiscard]] const Job* find_unread(JobId id) const { return store_.jobs().find(id); }
  /// Reads no body. Nullopt: there is no such job.
  [[nodiscard]] std::optional<JobState> state_of(JobId id) const {
    const Job* const job = store_.jobs().find(id);
    return job == nullptr ? std::nullopt : std::optional(job->state);
  }
  /// Its runs that did not end well; null: there is none.
  [[nodiscard]] const Attempts* attempts_of(const Job& job) const {
    return store_.jobs().attempts_of(job);
  }
  /// Keeps the body of a job that was handed out with it in memory, whatever becomes of the job.
  [[nodiscard]] BodyPin pin_body(const Job& job) const { return store_.jobs().bodies().pin(job); }
  /// What was told of the progress of this job, whose name is given; or null. The end of a job of
  /// that name is none of it.
  [[nodiscard]] const Track* progress_of(const Job& job, std::string_view jid) const {
    if (!job.features || !job.features->is_tracked) return nullptr;
    const Track* const track = store_.tracks().find(jid);
    return track == nullptr || track->has_ended() ? nullptr : track;
  }
  /// Up to `limit` jobs whose names have that hash (`Jobs::names`), those first that were made
  /// last. Their bodies are not read.
  [[nodiscard]] std::vector<JobId> named(std::uint32_t hash, std::size_t limit) const;
  /// The job that holds that lock, or lends it, be its time over or not; or null.
  [[nodiscard]] const Job* find_lock_holder(const LockKey& key) const {
    const auto slot = store_.jobs().locks().holder(key);
    return slot ? &store_.jobs().with_body(*slot) : nullptr;
  }
  /// Up to `limit` jobs that hold or lend a lock, after that one, in the order of `Locks::page`,
  /// until `visit` answers false.
  void page_locks(const std::optional<LockKey>& after, std::size_t limit,
                  const std::function<bool(const Job&)>& visit) const;

  [[nodiscard]] std::size_t lock_count() const { return store_.jobs().locks_in_force(); }
  [[nodiscard]] std::size_t tracked_count() const { return store_.jobs().tracked().size(); }
  /// Jobs that are dead, or die when their run ends, since their bodies could not be read.
  [[nodiscard]] std::size_t unreadable_count() const { return store_.jobs().unreadable_count(); }

  /// The first job of a queue's order, or null.
  [[nodiscard]] const Job* first_ready(const Queue& queue) const;
  [[nodiscard]] const Job* first_delayed(const Queue& queue) const;
  [[nodiscard]] const Job* first_dead(const Queue& queue) const;
  /// Since when the job that has been ready for longest is so: exact among those that are first of
  /// their priority, of which up to `kPrioritiesLookedAt` are looked at. kNever: none is ready.
  [[nodiscard]] Time oldest_ready(const Queue& queue) const;

  using Visitor = std::function<void(const Job&)>;

  /// Up to `limit` jobs in `state`, all queues, in the order of (`Job::steady_when`, id), strictly
  /// after the cursor. Ready jobs have no such order: they are paged by queue.
  struct Cursor {
    Time when = Time::min();
    JobId id = 0;
  };
  void page(JobState state, Cursor after, std::size_t limit, const Visitor& visit) const;

  /// Up to `limit` ready jobs of a queue, in the order of (pri, sequence), strictly after the
  /// cursor.
  struct ReadyCursor {
    Pri pri = 0;
    Sequence sequence = 0;
  };
  void page_ready(const Queue& queue, ReadyCursor after, std::size_t limit,
                  const Visitor& visit) const;

  /// Walks the jobs of an order that come after `after` (nullopt: from its beginning), until
  /// `visit` answers false or it has looked at `steps_max` of them; skipped ones count.
  using ScanVisitor = std::function<bool(const Job&)>;
  [[nodiscard]] ScanEnd scan(const ScanOrder& order, std::optional<ScanPlace> after,
                             std::size_t steps_max, const ScanVisitor& visit) const;
  /// How many jobs a whole walk looks at, about.
  [[nodiscard]] std::uint64_t scan_length(const ScanOrder& order) const;

 private:
  const Store& store_;
};

/// See `JobsView::oldest_ready`.
inline constexpr std::size_t kPrioritiesLookedAt = 16;

}  // namespace millrace
