#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/broker/clients/client.hpp"
#include "core/model/refusal.hpp"
#include "core/ports/session.hpp"
#include "core/state/store.hpp"

namespace millrace {

/// The clients that are connected: their sessions, and the queues that they use and watch.
class ConnectedClients {
 public:
  /// `store` outlives this.
  explicit ConnectedClients(Store& store) : store_(store) {}

  /// `session` outlives the client.
  ClientId add(Session& session);
  /// Forgets the client and what it used and watched. It must not wait.
  void remove(ClientId id);

  /// The client is connected.
  [[nodiscard]] Client& at(ClientId id);
  /// Null when it is not connected any more.
  [[nodiscard]] Client* find(ClientId id);
  [[nodiscard]] const Clients& all() const { return clients_; }

  /// See the operations of `ConnectionOperations` with these names.
  Answer<Done> use(ClientId id, std::string_view queue);
  Answer<std::size_t> watch(ClientId id, std::string_view queue);
  Answer<std::size_t> ignore(ClientId id, std::string_view queue);

  /// The client asks for a job. From now on it takes jobs of what it watches.
  void mark_taker(Client& client);

  /// Hands the delivery to the client's session and notes that the session must be resumed.
  void deliver(Client& client, const Delivery& delivery, Time now);
  /// Notes that alone.
  void wake(Client& client);
  /// The sessions of clients that are still connected, of those woken since the last call.
  [[nodiscard]] std::vector<Session*> take_woken();

  /// See `Broker::step_count`.
  [[nodiscard]] std::uint64_t step_count() const { return step_count_; }

 private:
  [[nodiscard]] std::optional<std::size_t> find_watched(const Client& client, QueueId queue);
  void leave_used(Client& client);
  void leave_watched(const Client& client, QueueId queue);

  Store& store_;
  Clients clients_;
  ClientId next_id_ = 1;
  std::vector<ClientId> woken_;
  std::uint64_t step_count_ = 0;
};

}  // namespace millrace
