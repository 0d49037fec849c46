#pragma once

#include <functional>
#include <memory>

#include "core/ports/work_unit.hpp"
#include "core/state/ledger.hpp"
#include "simulation/broken/broken.hpp"

/// Mistakes in what the features of jobs are, as `broken.hpp` has them.
namespace millrace::simulation::broken {

/// Finds no job by its name.
class NamelessFormat final : public WorkUnitFormat {
 public:
  [[nodiscard]] Identity identify(const Job&) const override { return {}; }
  void render(const Job&, std::string_view, WallClock, std::string&) const override {}
};

/// Called once a step.
using Meddle = std::function<void(Ledger&, Random&)>;

/// After an ACK, a lock is free that another job holds.
Meddle foreign_lock_freed();

/// A job that is dead keeps its lock.
Meddle lock_kept_by_the_dead();

/// A dead job that is to come back later has no lock.
Meddle lock_not_taken_anew();

/// A job that waits forgets when it expires.
Meddle expiry_forgotten();

/// A job fails in another way, and is still taken for one of its former group.
Meddle group_kept();

/// Writes a job once more without its attempts.
Meddle attempts_forgotten();

/// A ready job that was moved comes last in its new queue.
Meddle moved_job_comes_last();

/// A batch forgets that it has pushed a callback.
Meddle callback_forgotten();

/// A running job of the throttled queue does not count any more.
Meddle slot_given_back();
/// Of a worker that never beats, the server remembers that it does: a restart takes its jobs back.
Meddle holder_taken_for_beating();

/// A job that its worker gave back has one retry less.
Meddle give_back_counted();

/// A slot of a key is taken by a job that has one already, and is not given back.
Meddle slot_of_key_kept();

/// A job of a limited type gives its slot back before it has ended.
Meddle slot_of_type_given_back();

/// The counters of batches are written with the next batch of records only.
JournalWrap counters_in_the_next_batch();

/// Tracks are not in the log.
JournalWrap tracks_lost();

/// Marks of errors are not in the log; or not after compaction.
JournalWrap marks_lost();
JournalWrap marks_lost_in_compaction();
/// The same of views.
JournalWrap views_lost();
JournalWrap views_lost_in_compaction();
/// Changes of people never reach the log; or their counts do not.
JournalWrap changes_lost();
JournalWrap counts_of_changes_lost();
JournalWrap changes_lost_in_compaction();

/// New tokens never reach the log; or revoked ones are back after a start; or compaction loses
/// them.
JournalWrap tokens_lost();
JournalWrap revoked_tokens_back();
JournalWrap tokens_lost_in_compaction();

/// Pushes whose jobs have ended are not in the log.
JournalWrap ended_pushes_lost();

/// Finished jobs are not in the log; or not in the frame of their ends; or not after compaction.
JournalWrap finished_jobs_lost();
JournalWrap finished_jobs_in_the_next_batch();
JournalWrap finished_jobs_lost_in_compaction();

/// Moves are not in the log.
JournalWrap moves_lost();

/// Callbacks are not in the log.
JournalWrap callbacks_lost();

}  // namespace millrace::simulation::broken
