#pragma once

#include <cstdint>
#include <string_view>

#include "core/broker/requests.hpp"
#include "core/model/features/track.hpp"
#include "core/model/job.hpp"
#include "core/model/refusal.hpp"
#include "core/model/types.hpp"
#include "core/model/worker.hpp"

namespace millrace {

struct BrokerParts;

/// The operations of workers (FWP): they beat, and report how the jobs that they hold ended. A job
/// is named by its jid, and any client may report it.
class WorkerOperations {
 public:
  /// `parts` outlives this.
  explicit WorkerOperations(BrokerParts& parts) : parts_(parts) {}

  /// The client speaks for this worker from now on; the worker's first connection creates it. To be
  /// called once for a client. Refused: a wid that is too long.
  Answer<Done> add(ClientId client, WorkerHello hello, Time now);

  /// The worker lives. `asked` moves its state rightwards, never back. Answers the state. Refused:
  /// an unknown wid.
  Answer<Worker::State> beat(std::string_view wid, Worker::State asked, std::int64_t rss_kb,
                             Time now);

  /// The client says goodbye (FWP END), or the server is about to close its connection. Where it is
  /// its worker's last one, the jobs that the worker still holds stay with it.
  void end(ClientId client);

  /// The run has succeeded: the job is deleted. Which one is meant: `Reservations::meant_by`. One
  /// that was taken from the client's worker, and waits to run again, is deleted too. Refused: no
  /// worker holds such a job, or another worker runs the one that is meant; its count of lost
  /// workers then leaves this one out. Recorded: the removal, and the totals.
  Answer<Done> ack(ClientId client, std::string_view jid, Time now);

  /// The run has failed: the job is retried after a back-off, dies, or is dropped, as it asks for.
  /// One that is given back is ready again: it counts as a release, and not as a failure.
  /// Chosen and refused as in `ack`. Recorded: the failure with its texts, and the totals.
  Answer<Done> fail(ClientId client, std::string_view jid, FailedRun run, Time now);

  /// The job that a client means by this jid when it ends it; and the one that is tracked by it.
  /// Null: there is none.
  [[nodiscard]] const Job* meant_by(ClientId client, std::string_view jid) const;
  [[nodiscard]] const Job* tracked_as(std::string_view jid) const;

  /// What is known of the job of that name (FWP TRACK GET). One whose body cannot be read has none.
  [[nodiscard]] TrackView track(std::string_view jid) const;

  /// Sets the progress of a job, whoever holds it. `reserve_until` lengthens the reservation of the
  /// job that `ack` would mean, or of the tracked job of that name that a connection holds: to at
  /// most a day from now. It never shortens one, and means nothing for a job that is not reserved.
  /// Refused: no room. Recorded: the change of the job; the track, once a batch.
  Answer<Done> set_track(ClientId client, const TrackUpdate& update, Time now);

  /// Undoes a fetch of which the worker never learned. The job regains its place in the queue, no
  /// failure is counted, and a client that waits is served. Refused: that reservation is over.
  Answer<Done> undo_fetch(JobId id, Time reserved_at, Time now);

 private:
  void lengthen(const Job& job, Time until, Time now);

  BrokerParts& parts_;
};

}  // namespace millrace
