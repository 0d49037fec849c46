#pragma once

#include "core/broker/view.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Ends the lives of batches: an open one that nobody uses any more, and a finished one after a
/// time.
class BatchLives {
 public:
  /// Both outlive this.
  BatchLives(Ledger& ledger, Tally& tally) : ledger_(ledger), tally_(tally) {}

  /// At most a slice of each.
  void end_due(Time now);
  /// When `end_due` has something to do.
  [[nodiscard]] Time next_due() const;

  /// The batch is gone, and its parent does not wait for it. Its members stay, and are plain jobs.
  void drop(const JobBatch& batch);

 private:
  void end_open(Time now);
  void end_finished(Time now);
  void forget(const JobBatch& batch);

  Ledger& ledger_;
  Tally& tally_;
};

}  // namespace millrace
