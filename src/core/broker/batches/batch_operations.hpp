#pragma once

#include <cstdint>

#include "core/broker/jobs/random_numbers.hpp"
#include "core/broker/requests.hpp"
#include "core/model/refusal.hpp"
#include "core/model/types.hpp"

namespace millrace {

struct BrokerParts;

/// The operations on batches of jobs. Jobs become members by their features, when they are pushed.
class BatchOperations {
 public:
  /// `parts` outlives this. The numbers follow from the seed.
  BatchOperations(BrokerParts& parts, std::uint64_t random_seed)
      : parts_(parts), random_(random_seed ^ kSeedOfBatches) {}

  /// The number of a batch that is added next: its callbacks name it.
  [[nodiscard]] JobBatchId draw_id();
  [[nodiscard]] std::uint64_t draw_number() { return random_.draw(); }

  /// Makes the batch, which is open. Refused: its parent is not there; new jobs are not admitted.
  Answer<Done> add(const NewJobBatch& batch, Time now);

  // The others are refused only where the batch is not there.

  /// No callback is pushed from now on, until it is committed, or nobody has used it for
  /// `kOpenBatchLimit`.
  Answer<Done> open(JobBatchId id, Time now);
  /// No job is missing: callbacks are pushed when they are due, at the earliest now.
  Answer<Done> commit(JobBatchId id, Time now);

  /// Of the members that have ended without success, up to `count_max` count as done. Answers how
  /// many.
  Answer<std::uint64_t> accept_lost(JobBatchId id, std::uint64_t count_max, Time now);
  /// The batch is gone: no callback of it is pushed any more, its parent does not wait for it, and
  /// its members run on as plain jobs. Its children have no parent then.
  Answer<Done> remove(JobBatchId id, Time now);

 private:
  static constexpr std::uint64_t kSeedOfBatches = 0x6a09e667f3bcc908u;

  BrokerParts& parts_;
  RandomNumbers random_;
};

}  // namespace millrace
