#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/model/record.hpp"
#include "core/model/types.hpp"
#include "core/state/job_memory.hpp"
#include "core/state/store.hpp"

namespace millrace {

/// Where a decision becomes fact: each record is written into the batch and applied to the store,
/// in that order, and nothing else changes a job. A reservation held by a connection is applied but
/// not written, since it does not outlive the process: after a restart the job stands where its
/// last written record left it.
class Ledger {
 public:
  void commit(JobAdded&& record);
  void commit(JobChanged&& record);
  void commit(JobRemoved&& record);

  /// Writes the changed job whole, at the end of the log, and not only what changed: so that a
  /// piece of the log is never needed for much more than stands in it.
  void commit_whole(JobChanged&& record);
  void commit(QueueChanged&& record);

  /// Reads a batch, which stands in the log at `begin`, into the store.
  [[nodiscard]] Outcome<Done> replay(std::string_view batch, Lsn begin);

  /// The same in steps: some of its records, in order, and after the last ones `place`.
  void replay(std::vector<Record>&& records);

  /// In batches replayed.
  [[nodiscard]] std::uint64_t records_replayed() const { return records_replayed_; }

  /// Writes what stands in the log before `before` and is still needed once more, at its end, the
  /// oldest first and until that has `bytes_max` bytes or a little more. Changes no job.
  void rewrite(Lsn before, std::size_t bytes_max);
  /// Jobs that `rewrite` wrote since the process began.
  [[nodiscard]] std::uint64_t jobs_rewritten() const { return jobs_rewritten_; }

  /// Everything in the log before this position is obsolete, if the totals are written once more
  /// (`write_totals`). Greater than any position when nothing is needed.
  [[nodiscard]] Lsn oldest_needed() const { return store_.oldest_needed(); }
  /// How long a log would be that held nothing obsolete, totals and days left out.
  [[nodiscard]] std::uint64_t live_bytes() const { return store_.live_bytes(); }

  /// An id, or a sequence, never given before.
  [[nodiscard]] JobId draw_id() { return counters_.next_id++; }

  /// Totals. They are written once a batch, as they stand.
  void count_processed(Time now);
  void count_failed(Time now);
  void reset_counters();
  [[nodiscard]] const CountersChanged& counters() const { return counters_; }
  [[nodiscard]] const std::vector<DayCounts>& history() const { return store_.history(); }

  [[nodiscard]] bool has_batch() const {
    return !batch_.empty() || are_counters_dirty_ || store_.has_lost_pauses();
  }
  /// How long the batch is by now, the totals left out.
  [[nodiscard]] std::size_t batch_bytes() const { return batch_.size(); }
  /// Into batches, those written once more included, since the process began.
  [[nodiscard]] std::uint64_t records_written() const { return records_written_; }
  /// The records since the last call, encoded; empty when nothing changed.
  [[nodiscard]] std::string take_batch();
  /// The batch taken last, or replayed in steps, stands in the log at `begin`.
  void place(Lsn begin) { store_.place(begin); }
  /// The next batch will hold the totals, whether they changed or not.
  void write_totals() { are_counters_dirty_ = true; }

  [[nodiscard]] JobMemory& memory() { return memory_; }
  [[nodiscard]] const JobMemory& memory() const { return memory_; }

  [[nodiscard]] Store& store() { return store_; }
  [[nodiscard]] const Store& store() const { return store_; }

 private:
  void commit(HistoryChanged&& record);
  void start_day(Time now);
  void rewrite_job(JobSlot slot);
  void write_lost_pauses();
  void write(const Record& record);

  Store store_;
  JobMemory memory_{store_};
  std::string batch_;
  std::uint64_t records_written_ = 0;
  std::uint64_t records_replayed_ = 0;
  std::uint64_t jobs_rewritten_ = 0;
  CountersChanged counters_;
  bool are_counters_dirty_ = false;
};

}  // namespace millrace
