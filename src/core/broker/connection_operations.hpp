#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/model/job.hpp"
#include "core/model/refusal.hpp"
#include "core/model/types.hpp"

namespace millrace {

struct BrokerParts;

/// The operations of connections (beanstalk): they use and watch queues, hold the jobs that they
/// reserved, and name a job by its id.
class ConnectionOperations {
 public:
  /// `parts` outlives this.
  explicit ConnectionOperations(BrokerParts& parts) : parts_(parts) {}

  // ---- queues -----------------------------------------------------------------------------------

  /// The client puts here from now on; the queue exists as long as it does. Refused: a name that is
  /// too long.
  Answer<Done> use(ClientId client, std::string_view queue);

  /// Both answer how many queues the client now watches. Refused: a name that is too long, one more
  /// than `kWatchedQueuesMax`, and ignoring the last one.
  Answer<std::size_t> watch(ClientId client, std::string_view queue);
  Answer<std::size_t> ignore(ClientId client, std::string_view queue);

  // ---- jobs -------------------------------------------------------------------------------------

  /// Reserves that very job for the connection: ready, scheduled, retrying or dead. Refused: there
  /// is no such job, it is held, or its body cannot be read; it is dead, and another job holds its
  /// lock; no reservations are admitted.
  Answer<const Job*> reserve_job(ClientId client, JobId id, Time now);

  /// Deletes a job that the connection holds (for a pushed one this counts as ACK), or that nobody
  /// holds. Refused: there is no such job, or another client holds it.
  Answer<Done> remove(ClientId client, JobId id, Time now);

  /// Each needs the connection to hold the job, and is refused else. A release with a delay and a
  /// bury are also refused while records must not grow.
  Answer<Done> release(ClientId client, JobId id, Pri pri, std::uint32_t delay_s, Time now);
  Answer<Done> bury(ClientId client, JobId id, Pri pri, Time now);
  /// The deadline begins anew.
  Answer<Done> touch(ClientId client, JobId id, Time now);

  /// Makes up to `bound` dead jobs of the client's used queue ready, oldest first; when it has
  /// none, delayed ones, soonest first. Answers how many, or nullopt when that will be delivered.
  /// The client's leaving ends it.
  std::optional<std::uint64_t> kick(ClientId client, std::uint64_t bound, Time now);

  /// Makes a dead, scheduled or retrying job ready. Refused: there is no such job, or it is in
  /// another state; it is dead, and another job holds its lock or its body cannot be read.
  Answer<Done> kick_job(JobId id, Time now);

 private:
  BrokerParts& parts_;
};

}  // namespace millrace
