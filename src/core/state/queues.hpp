#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.hpp"
#include "core/model/queue.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/live_records.hpp"

namespace millrace {

/// Is told of the queues that come and go.
class QueueWatcher {
 public:
  virtual void opened(Queue& queue) = 0;
  /// The queue has no jobs and no clients, and is about to go.
  virtual void dropped(Queue& queue) = 0;

 protected:
  ~QueueWatcher() = default;
};

/// All queues, by name and in the order of their creation. A queue's record is live while it says
/// something: that the queue is kept, or paused.
class Queues : public LiveRecords<Queues> {
 public:
  /// There is `default`.
  Queues();

  /// It is told of queues from now on, and outlives this.
  void watch(QueueWatcher& watcher) { watcher_ = &watcher; }

  /// Makes the queue if there is none. The caller then gives it a reason to exist, or collects it.
  QueueId open(std::string_view name);
  /// Null when there is none of that name.
  [[nodiscard]] Queue* find(std::string_view name);
  [[nodiscard]] const Queue* find(std::string_view name) const;
  /// The id of a queue that is there.
  [[nodiscard]] Queue& at(QueueId id) { return *checked(id); }
  [[nodiscard]] const Queue& at(QueueId id) const { return *checked(id); }
  [[nodiscard]] bool has(QueueId id) const { return queues_[id] != nullptr; }

  /// Drops the queue when nothing needs it any more. A pause that ends with it must be recorded,
  /// see `write`.
  void collect(QueueId id);

  /// When pauses of queues end, soonest first; endless ones are not in it.
  using PauseEnds = absl::btree_set<std::pair<Time, QueueId>>;
  [[nodiscard]] const PauseEnds& pause_ends() const { return pause_ends_; }
  /// The first of them is over. The queue is collected.
  void end_pause();

  // Queues were dropped before their pause was over. Without a record of its end, a pause would be
  // in force again after the next start.
  [[nodiscard]] bool has_unwritten() const { return !lost_pauses_.empty(); }
  std::size_t write(std::string& batch);

  /// While the log is read a paused queue stays until its record says otherwise.
  void set_replaying(bool is_replaying) { is_replaying_ = is_replaying; }

  /// Changes whenever a queue comes or goes; above 0.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

  /// Place of creation to queue.
  using Creation = absl::btree_map<std::uint64_t, QueueId>;
  [[nodiscard]] const Creation& by_creation() const { return creation_; }
  /// The place after all that are there now.
  [[nodiscard]] std::uint64_t next_creation() const { return next_creation_; }
  /// Up to `limit` of them, from place `begin` in that order and before place `end`. Answers the
  /// place to go on from, `end` when there are no more.
  std::uint64_t page(std::uint64_t begin, std::uint64_t end, std::size_t limit,
                     const std::function<void(const Queue&)>& visit) const;

  /// Those that are kept or have a ready job, in no order.
  [[nodiscard]] const std::vector<QueueId>& listed() const { return listed_; }
  /// To be called when a queue's ready jobs have changed.
  void update_listed(Queue& queue);

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(QueueChanged&& record);
  /// By what queues with their entries in the orders took.
  [[nodiscard]] std::size_t memory_bytes() const { return creation_.size() * 1024; }
  static constexpr AtFlush kAtFlush = AtFlush::kRemoved;

 private:
  [[nodiscard]] Queue* checked(QueueId id) const {
    // A walk over all jobs looks at the queue of each: a CHECK was 5 % of a web list.
    DCHECK(id < queues_.size() && queues_[id] != nullptr);
    return queues_[id].get();
  }
  friend LiveRecords;
  [[nodiscard]] LogNode& node_of(QueueId id) { return *at(id).log; }
  [[nodiscard]] QueueChanged record_in(QueueId id) const;
  void enter_log(Queue& queue);
  void leave_log(Queue& queue);

  QueueWatcher* watcher_ = nullptr;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<QueueId> free_ids_;
  TextMap<QueueId> ids_;
  Creation creation_;
  std::uint64_t next_creation_ = 0;
  std::uint64_t changes_ = 0;
  std::vector<QueueId> listed_;
  PauseEnds pause_ends_;
  std::vector<std::string> lost_pauses_;
  bool is_replaying_ = false;
};

/// All that is stored of a queue besides its jobs. The name is a view of the queue's.
[[nodiscard]] QueueChanged record_of(const Queue& queue);

}  // namespace millrace
