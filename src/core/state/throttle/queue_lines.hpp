#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>

#include <memory>
#include <optional>
#include <vector>

#include "core/state/queues.hpp"
#include "core/state/throttle/lines.hpp"

namespace millrace {

/// The lines of all queues that have some. Work on a million jobs is done in slices.
class QueueLines {
 public:
  /// Both outlive this.
  QueueLines(Queues& queues, ThrottleTable& table) : queues_(queues), table_(table) {}

  /// The queue has lines from now on, in place of others. Without keys they are complete at once.
  Lines& open(Queue& queue, bool has_keys);
  /// It has none.
  void dismiss(Queue& queue);

  /// A job has left the ready order of a queue with lines (`Lines::leave`).
  void leave(Queue& queue, const Job& job, const ReadyEntry& entry, bool comes_back);

  /// A look for the next job of the queue ended after a slice (`Lines::Next::is_cut`).
  void note_unfinished(QueueId queue) { unfinished_.push_back(queue); }
  /// A queue of those; nullopt: there is none.
  [[nodiscard]] std::optional<QueueId> take_unfinished();

  /// Puts a slice of jobs into the lines of a queue with keys, and frees a slice of lines that are
  /// not needed any more. Answers the queue whose lines are complete now; null: none.
  [[nodiscard]] Queue* line_up_some(absl::FunctionRef<const Job&(JobSlot)> job_in);
  [[nodiscard]] bool has_work() const {
    return !lining_up_.empty() || !dismissed_.empty() || !unfinished_.empty();
  }

  [[nodiscard]] const LineCounts& counts() const { return counts_; }

 private:
  Queues& queues_;
  ThrottleTable& table_;
  LineCounts counts_;
  absl::flat_hash_map<QueueId, std::unique_ptr<Lines>> lines_;
  std::vector<QueueId> lining_up_;
  std::vector<QueueId> unfinished_;
  std::vector<std::unique_ptr<Lines>> dismissed_;
};

}  // namespace millrace
