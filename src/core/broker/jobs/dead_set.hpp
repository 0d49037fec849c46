#pragma once

#include <cstddef>

#include "core/broker/jobs/job_moves.hpp"
#include "core/broker/view.hpp"

namespace millrace {

/// A pushed job is removed when it has been dead for so long (reference server: 180 days). Buried
/// ones stay.
inline constexpr Duration kDeadLimit = 180 * 24h;

/// Keeps the set of dead jobs from growing for ever: removes pushed jobs that have been dead for
/// too long, and beyond a number the one that has been dead for longest.
class DeadSet {
 public:
  /// Store, moves and tally outlive this.
  DeadSet(const Store& store, JobMoves& moves, Tally& tally, std::size_t jobs_max)
      : store_(store), moves_(moves), tally_(tally), jobs_max_(jobs_max) {}

  /// At most a slice.
  void purge(Time now);
  /// When `purge` has something to do.
  [[nodiscard]] Time next_due() const;

 private:
  const Store& store_;
  JobMoves& moves_;
  Tally& tally_;
  std::size_t jobs_max_;
};

}  // namespace millrace
