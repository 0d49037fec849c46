#pragma once

#include <cstdint>

#include "core/broker/admission_control.hpp"
#include "core/broker/jobs/job_moves.hpp"
#include "core/broker/view.hpp"

namespace millrace {

/// Makes scheduled and retrying jobs ready when they come due.
class Schedule {
 public:
  /// All of them outlive this.
  Schedule(const Store& store, const AdmissionControl& admission, JobMoves& moves, Tally& tally)
      : store_(store), admission_(admission), moves_(moves), tally_(tally) {}

  /// At most a slice of the scheduled jobs, and one of the retrying ones.
  void enqueue_due(Time now);
  /// When the next job comes due.
  [[nodiscard]] Time next_due() const;

 private:
  template <typename Order>
  void enqueue_due(const Order& order, std::uint64_t& count, Time now);

  const Store& store_;
  const AdmissionControl& admission_;
  JobMoves& moves_;
  Tally& tally_;
};

}  // namespace millrace
