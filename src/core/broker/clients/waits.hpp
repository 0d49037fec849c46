#pragma once

#include <absl/container/btree_set.h>

#include <cstdint>
#include <set>
#include <utility>

#include "core/broker/clients/connected_clients.hpp"
#include "core/broker/features/unreadable_bodies.hpp"
#include "core/broker/jobs/reservations.hpp"
#include "core/broker/requests.hpp"
#include "core/broker/view.hpp"

namespace millrace {

/// The clients that wait for a job. In each queue the client that came first is served first.
///
/// Whoever makes a job ready, or ends a pause, calls `serve` for its queue: so no client waits
/// while there is a job for it, but in the queues whose serving a slice has left to the next tick.
class Waits {
 public:
  /// All of them outlive this.
  Waits(Store& store, ConnectedClients& clients, Reservations& reservations,
        UnreadableBodies& unreadable, Tally& tally)
      : store_(store),
        clients_(clients),
        reservations_(reservations),
        unreadable_(unreadable),
        tally_(tally) {}

  /// The client waits from now on, for one thing at a time. Queues that do not exist are made.
  void begin(Client& client, const ReserveRequest& request);
  /// The client, which waits, waits no longer. Its session is told nothing.
  void end(Client& client);
  /// The same, and this is delivered to the session.
  void end(Client& client, Delivery::Kind kind, Time now);

  /// Hands ready jobs of the queue to the clients that wait for them, at most a slice, and leaves
  /// the rest to `serve_unserved`. Where the limits of the queue are reached, nobody gets one; a
  /// client whose worker has no free slot is passed over. Answers how many.
  std::size_t serve(QueueId queue, Time now);
  /// Leaves the queue to the next `serve_unserved`.
  void serve_later(QueueId queue) { unserved_.insert(queue); }
  /// At most a slice.
  void serve_unserved(Time now);

  /// Ends the waits whose time is over, and tells holders of jobs that a deadline is near; at most
  /// a slice. To be called after everything that can bring a job: a client that gets one at this
  /// moment has not waited in vain.
  void end_due(Time now);

  /// When `serve_unserved` or `end_due` has something to do.
  [[nodiscard]] Time next_due() const;

  /// See `Broker::step_count`.
  [[nodiscard]] std::uint64_t step_count() const { return step_count_; }

 private:
  void await_token(Throttle& throttle);
  [[nodiscard]] Client* next_of(Queue& queue, Time now);
  [[nodiscard]] Client* next_admitted(Queue& queue, Time now);
  void ring(Client& client, Time now);
  void set_alarm(const Client& client, Wait& wait);
  void clear_alarm(const Client& client, const Wait& wait);

  Store& store_;
  ConnectedClients& clients_;
  Reservations& reservations_;
  UnreadableBodies& unreadable_;
  Tally& tally_;
  std::uint64_t next_ticket_ = 1;
  /// Of the waits that can end without a job.
  absl::btree_set<std::pair<Time, ClientId>> alarms_;
  std::set<QueueId> unserved_;
  std::uint64_t step_count_ = 0;
};

}  // namespace millrace
