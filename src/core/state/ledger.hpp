#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "core/model/long_body.hpp"
#include "core/model/recent_changes.hpp"
#include "core/model/record.hpp"
#include "core/model/record_batch.hpp"
#include "core/model/types.hpp"
#include "core/state/job_memory.hpp"
#include "core/state/store.hpp"

namespace millrace {

/// Where a decision becomes fact. `commit` writes the record into the batch that is being collected
/// and applies it to the store, before anything else happens: so the batches in their order are the
/// log, and replaying them gives the same store. Which of the two comes first makes no difference
/// to anyone else, with one exception for the caller: `commit_whole` applies first, since it writes
/// the job as it is afterwards.
///
/// A change to a job that a connection holds, or that begins such a hold, is applied and not
/// written: the hold ends with the process, and after a restart the job is where its last written
/// record left it.
class Ledger {
 public:
  /// Views in the record may point into the store. Nothing in it may fail: half a change would stay
  /// in batch or store, so the process ends.
  void commit(JobAdded&& record) noexcept;
  void commit(JobChanged&& record) noexcept;
  void commit(JobRemoved&& record) noexcept;
  void commit(JobFinished&& record) noexcept;
  /// The same for a record of anything but a job.
  void commit(Record&& record) noexcept;

  /// Of a job that a connection holds, and keeps. Other changes of such a job are not written; this
  /// one is, and a restart finds the job ready, with these fields.
  void commit_held(JobChanged&& record) noexcept;

  /// The body of the job that is added next, which is not copied.
  void take_over(LongBody& body);

  /// Writes the changed job whole at the end of the log, and not only the change: so that a segment
  /// of the log is never needed for much more than is in it. The job is there. Where its body is
  /// missing, the change alone is written.
  void commit_whole(JobChanged&& record);

  // ---- the batch --------------------------------------------------------------------------------

  [[nodiscard]] bool has_batch() const;
  /// Its length by now, without the totals that may end it.
  [[nodiscard]] std::size_t batch_bytes() const {
    return records_bytes() + store_.tracks().unwritten_bytes();
  }
  /// The batch holds more than reservations of workers: clients may wait for it.
  [[nodiscard]] bool is_batch_awaited() const;
  /// What the wall clock shows: the batch tells it, where something is in it and the last batches
  /// do not say it already. To be called before `take_batch`. No record that counts.
  void record_clock(Time wall);
  /// The records since the last call, encoded; empty when nothing changed. The caller appends the
  /// batch to the log, and tells its position by `place` before anything else is committed.
  [[nodiscard]] RecordBatch take_batch();
  /// The batch taken last, or replayed in steps, begins there in the log.
  void place(Lsn begin);

  /// How much of the log must be durable so that a restart finds the job as it was before its
  /// present reservation; kWholeLog when some of that is not in the log yet.
  [[nodiscard]] Lsn needed_for(const Job& job) const;
  /// Everything before this is durable.
  void note_durable(Lsn durable) { changes_.forget(durable); }

  // ---- replay -----------------------------------------------------------------------------------

  /// Applies a batch that begins there in the log. A problem: it is no sequence of records; then
  /// some of them may have been applied.
  [[nodiscard]] Outcome<Done> replay(std::string_view batch, Lsn begin);
  /// The same in steps: some of its records, in order, and after the last ones `place`.
  void replay(std::vector<Record>&& records);

  /// The latest time that has passed for certain, by the records that were replayed; the epoch when
  /// there are none.
  [[nodiscard]] Time latest_time() const { return latest_time_; }

  // ---- compaction -------------------------------------------------------------------------------

  /// Everything in the log before this position is obsolete. Nullopt: all of the log is, once the
  /// batch that is being collected is in it.
  [[nodiscard]] std::optional<Lsn> oldest_needed() const;

  /// Writes the records that are before `before` in the log and still needed once more, at its end,
  /// the oldest first, until the batch has grown by `bytes_max` bytes or a little more. Changes
  /// nothing else. Ends early at a body that is missing: then `Bodies::has_missing`.
  void rewrite(Lsn before, std::size_t bytes_max);

  /// How long a log would be that held nothing obsolete.
  [[nodiscard]] std::uint64_t live_bytes() const;

  // ---- totals -----------------------------------------------------------------------------------

  /// A run ended; a run failed, which is counted besides. They are written once a batch, with the
  /// day that the wall clock shows.
  void count_processed(Time now);
  void count_failed(Time now);
  void reset_counters();

  /// Since the process began: into batches, rewritten ones included; and replayed.
  [[nodiscard]] std::uint64_t records_written() const { return records_written_; }
  [[nodiscard]] std::uint64_t records_replayed() const { return records_replayed_; }
  /// The length of those that were written, without what ends the batch at hand.
  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_taken_ + records_bytes(); }

  [[nodiscard]] JobMemory& memory() { return memory_; }
  [[nodiscard]] const JobMemory& memory() const { return memory_; }

  [[nodiscard]] Store& store() { return store_; }
  [[nodiscard]] const Store& store() const { return store_; }

 private:
  template <typename AnyRecord>
  void write(const AnyRecord& record);
  void write_around_body(const JobAdded& record);
  void begin_batch_at(std::size_t begin);
  /// Of the batch that is being collected.
  [[nodiscard]] std::size_t records_bytes() const { return batch_.size() - batch_begin_; }
  [[nodiscard]] bool has_unwritten() const;
  bool rewrite_oldest(Lsn before);
  void begin_day(Time now);

  Store store_;
  JobMemory memory_{store_};
  RecentChanges changes_;
  std::string batch_;                       ///< the records being collected
  std::size_t batch_begin_ = 0;             ///< where they begin in it
  std::string body_in_place_;               ///< see `LongBody::take_record`
  std::uint64_t reservation_count_ = 0;     ///< records of workers' reservations in `batch_`
  std::uint64_t records_before_batch_ = 0;  ///< `records_written_` when `batch_` began
  std::size_t taken_bytes_ = 0;             ///< of the batch that has no place yet
  std::uint64_t records_written_ = 0;
  std::uint64_t records_replayed_ = 0;
  std::uint64_t bytes_taken_ = 0;  ///< of all batches that were taken
  Time latest_time_{};
};

}  // namespace millrace
