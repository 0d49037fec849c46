#pragma once

#include "core/model/refusal.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Decides which operations are admitted while the disk or the memory is short, and when a slice of
/// work must end because its records fill the batch.
class AdmissionControl {
 public:
  /// Everything is admitted at first.
  explicit AdmissionControl(const Ledger& ledger) : ledger_(ledger) {}

  void set(Admission level) { level_ = level; }
  [[nodiscard]] Admission level() const { return level_; }

  /// New jobs.
  [[nodiscard]] bool admits_jobs() const { return level_ == Admission::kEverything; }
  /// Longer records of jobs and queues.
  [[nodiscard]] bool admits_growth() const { return level_ < Admission::kNoGrowth; }
  /// Reservations.
  [[nodiscard]] bool admits_reservations() const { return level_ < Admission::kEndingsOnly; }

  /// True when the batch is so long that a slice must end, however few jobs it has moved.
  [[nodiscard]] bool is_batch_full() const;

 private:
  const Ledger& ledger_;
  Admission level_ = Admission::kEverything;
};

}  // namespace millrace
