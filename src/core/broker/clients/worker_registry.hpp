#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/broker/clients/connected_clients.hpp"
#include "core/broker/clients/gone_workers.hpp"
#include "core/broker/clients/waits.hpp"
#include "core/broker/requests.hpp"
#include "core/broker/view.hpp"
#include "core/model/refusal.hpp"
#include "core/model/worker.hpp"

namespace millrace {

/// The workers that are connected. A worker is created by its first connection and removed with its
/// last one, or when it sends no BEAT for `kHeartbeatLimit` and was handed no job. Nothing of it is
/// stored.
class WorkerRegistry {
 public:
  /// All of them outlive this.
  struct Parts {
    Queues& queues;
    ConnectedClients& clients;
    Waits& waits;
    GoneWorkers& gone;
    Tally& tally;
  };
  explicit WorkerRegistry(Parts parts) : parts_(parts) {}

  [[nodiscard]] const Workers& all() const { return workers_; }

  /// The client, which spoke for no worker yet, speaks for this one. Refused: a wid that is too
  /// long.
  Answer<Done> add(ClientId client, WorkerHello hello, Time now);
  /// The client is about to leave.
  void remove(const Client& client, Time now);

  /// The worker lives. See `WorkerOperations::beat`.
  Answer<Worker::State> beat(std::string_view wid, Worker::State asked, std::int64_t rss_kb,
                             Time now);
  /// See `AdminOperations::order_worker`.
  Answer<Worker::State> tell(std::string_view wid, Worker::State asked, Time now);

  /// The client asks for jobs of these queues: they are served. Noted once a second for each
  /// client, since a FETCH must cost nothing for it.
  void note_fetch(Client& client, const std::vector<std::string_view>& queues, Time now) {
    if (now >= client.next_note) note_queues(client, queues, now);
  }

  /// The reservation does not run out, since its worker is there and beats.
  [[nodiscard]] bool extends(const Reservation& held, Time now) const;

  /// Removes the workers that have been silent for too long, and evicts their connections.
  void reap(Time now);
  /// When `reap` has something to do, if no worker beats.
  [[nodiscard]] Time next_due() const { return next_reaping_; }

 private:
  [[nodiscard]] bool has_taken(const Worker& worker) const;
  void note_queues(Client& client, const std::vector<std::string_view>& queues, Time now);
  void note_beats(Worker& worker, bool are_steady);
  Worker::State advance(Worker& worker, Worker::State asked, Time now);
  void evict(const Worker& worker, Time now);

  Parts parts_;
  Workers workers_;
  Time next_reaping_ = kNever;
};

}  // namespace millrace
