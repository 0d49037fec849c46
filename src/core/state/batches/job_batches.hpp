#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/slab.hpp"
#include "core/model/features/job_batch.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/log_order.hpp"
#include "core/state/slot_index.hpp"
#include "core/state/totals.hpp"

namespace millrace {

/// All batches of jobs. What is counted of one changes in memory by `edit`, and is written once for
/// each batch of records in which it changed, after the jobs that changed it: so after a restart
/// the numbers are those of the jobs.
///
/// What is to be done follows from what is counted: `next_work` and the alarms are indexes over it,
/// and the same after a restart.
class JobBatches {
 public:
  using Slot = std::uint32_t;

 private:
  // An open batch may be one of a hundred thousand: the orders and the index have only its slot.
  struct BySequence {
    using is_transparent = void;
    const Slab<JobBatch>* batches;
    [[nodiscard]] std::uint64_t key_of(Slot slot) const { return (*batches)[slot].sequence; }
    [[nodiscard]] static std::uint64_t key_of(std::uint64_t sequence) { return sequence; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return key_of(a) < key_of(b);
    }
  };
  struct ByAlarm {
    const Slab<JobBatch>* batches;
    bool operator()(Slot a, Slot b) const {
      const Time first = (*batches)[a].alarm;
      const Time second = (*batches)[b].alarm;
      return first != second ? first < second : a < b;
    }
  };

 public:
  /// `totals` outlives this: it learns of sequences.
  explicit JobBatches(Totals& totals) : totals_(totals) {}
  JobBatches(const JobBatches&) = delete;
  JobBatches& operator=(const JobBatches&) = delete;

  /// Null when there is none.
  [[nodiscard]] const JobBatch* find(JobBatchId id) const;
  [[nodiscard]] std::size_t size() const { return batches_.size(); }
  [[nodiscard]] std::size_t open_count() const { return open_.size(); }
  [[nodiscard]] std::size_t finished_count() const { return finished_.size(); }

  /// What never changes of it. Its views point into the batch.
  [[nodiscard]] static JobBatchAdded added_of(const JobBatch& batch);

  /// Changes what is counted. Nothing happens when there is no such batch.
  template <typename Change>
  void edit(JobBatchId id, Change&& change) {
    const auto slot = slots_.find(id);
    if (!slot) return;
    change(batches_[*slot].fields);
    note_change(*slot);
  }

  // ---- work -------------------------------------------------------------------------------------

  /// A batch that has work; null when none has.
  [[nodiscard]] const JobBatch* next_work();
  [[nodiscard]] bool has_work() const { return !work_.empty(); }

  /// Batches by the time at which something may have to be done (`JobBatch::alarm`), soonest first.
  /// The time of an open batch may be too early: see `deadline_of`.
  using Alarms = absl::btree_set<Slot, ByAlarm>;
  [[nodiscard]] const Alarms& open() const { return open_; }
  [[nodiscard]] const Alarms& finished() const { return finished_; }
  [[nodiscard]] const JobBatch& at(Slot slot) const { return batches_[slot]; }
  [[nodiscard]] static Time deadline_of(const JobBatch& batch);
  /// Its alarm has come, and was too early: it is set anew.
  void reset_alarm(JobBatchId id);

  // ---- order ------------------------------------------------------------------------------------

  /// By `JobBatch::sequence`, which is looked up.
  using Creation = absl::btree_set<Slot, BySequence>;
  [[nodiscard]] const Creation& by_creation() const { return creation_; }
  /// Parent, and the sequence of the child.
  using Families = absl::btree_map<std::pair<JobBatchId, std::uint64_t>, Slot>;
  [[nodiscard]] const Families& families() const { return families_; }

  /// About what they take in memory.
  [[nodiscard]] std::size_t memory_bytes() const;

  // ---- the batch of records ---------------------------------------------------------------------

  // What was edited is written as it is when the batch of records ends.
  [[nodiscard]] bool has_unwritten() const { return !changed_.empty(); }
  std::size_t write(std::string& batch);

  // ---- as a live kind ---------------------------------------------------------------------------

  /// A batch that is there already stays as it is: it was only written once more.
  void apply(JobBatchAdded&& record);
  // A change or removal of a batch that is not there does nothing: the batch is written whole later
  // in the log.
  void apply(JobBatchChanged&& record);
  void apply(JobBatchRemoved&& record);

  /// What changes is written after what does not, always: so the place of the latter is enough.
  [[nodiscard]] std::optional<Lsn> oldest_place() const { return log_.oldest_place(); }
  void rewrite_oldest(std::string& batch);
  void place(Lsn begin) {
    log_.place(begin, [](Slot) {});
  }
  [[nodiscard]] std::uint64_t live_bytes() const { return record_bytes_; }
  static constexpr AtFlush kAtFlush = AtFlush::kRemoved;

 private:
  void note_change(Slot slot);
  void update_indexes(Slot slot);
  void update_alarm(Slot slot);
  void clear_alarm(Slot slot);
  void count_changed_bytes(JobBatch& batch);
  void set_changed_bytes(JobBatch& batch, std::uint64_t bytes);

  Totals& totals_;
  Slab<JobBatch> batches_;

  struct KeyOf {
    JobBatchId operator()(const JobBatch& batch) const { return batch.id; }
    // It was drawn at random.
    static std::size_t hash(JobBatchId id) { return id; }
  };
  SlotIndex<JobBatch, KeyOf> slots_{batches_};

  Creation creation_{BySequence{&batches_}};
  Families families_;
  Alarms open_{ByAlarm{&batches_}};
  Alarms finished_{ByAlarm{&batches_}};
  std::deque<Slot> work_;  ///< some may have none any more
  std::vector<Slot> changed_;
  std::size_t text_bytes_ = 0;

  struct NodeOf {
    Slab<JobBatch>* batches;
    LogNode& operator()(Slot slot) const { return (*batches)[slot].log; }
  };
  LogOrder<NodeOf> log_{NodeOf{&batches_}};
  std::uint64_t record_bytes_ = 0;
};

}  // namespace millrace
