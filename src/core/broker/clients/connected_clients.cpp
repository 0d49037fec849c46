#include "core/broker/clients/connected_clients.hpp"

#include <algorithm>

namespace millrace {

ClientId ConnectedClients::add(Session& session) {
  const ClientId id = next_id_++;
  Client& client = clients_[id];
  client.id = id;
  client.session = &session;
  return id;
}

void ConnectedClients::remove(ClientId id) {
  Client& client = at(id);
  // `Broker::disconnect` ends the wait first, while the queues know the client.
  CHECK(!client.wait);
  leave_used(client);
  for (const QueueId queue : client.watched) leave_watched(client, queue);
  clients_.erase(id);
}

Client& ConnectedClients::at(ClientId id) {
  Client* client = find(id);
  CHECK(client != nullptr);
  return *client;
}

Client* ConnectedClients::find(ClientId id) {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : &found->second;
}

/// The queue may have existed for this client only.
void ConnectedClients::leave_used(Client& client) {
  if (!client.used) return;
  Queue& queue = store_.queues().at(*client.used);
  CHECK(queue.user_count > 0);
  --queue.user_count;
  store_.queues().collect(*client.used);
  client.used.reset();
}

void ConnectedClients::leave_watched(const Client& client, QueueId id) {
  Queue& queue = store_.queues().at(id);
  CHECK(queue.watcher_count > 0);
  --queue.watcher_count;
  if (client.has_fetched) {
    CHECK(queue.taker_count > 0);
    --queue.taker_count;
  }
  store_.queues().collect(id);
}

void ConnectedClients::mark_taker(Client& client) {
  if (client.has_fetched) return;
  client.has_fetched = true;
  for (const QueueId queue : client.watched) ++store_.queues().at(queue).taker_count;
}

Answer<Done> ConnectedClients::use(ClientId id, std::string_view name) {
  if (name.size() > kQueueNameBytesMax) return Refusal::kNameTooLong;
  Client& client = at(id);
  const QueueId queue = store_.queues().open(name);
  // Before the former one is left: it may be the same one, which must not vanish in between.
  ++store_.queues().at(queue).user_count;
  leave_used(client);
  client.used = queue;
  return Done{};
}

std::optional<std::size_t> ConnectedClients::find_watched(const Client& client, QueueId queue) {
  // The list is walked without touching a queue, so many of its ids cost as much as one queue.
  constexpr std::size_t kIdsPerStep = 64;
  step_count_ += client.watched.size() / kIdsPerStep;
  const auto place = std::find(client.watched.begin(), client.watched.end(), queue);
  if (place == client.watched.end()) return std::nullopt;
  return place - client.watched.begin();
}

Answer<std::size_t> ConnectedClients::watch(ClientId id, std::string_view name) {
  if (name.size() > kQueueNameBytesMax) return Refusal::kNameTooLong;
  Client& client = at(id);
  const Queue* known = store_.queues().find(name);
  // Before the limit: watching a queue twice is allowed at the limit too.
  if (known != nullptr && find_watched(client, known->id)) return client.watched.size();
  if (client.watched.size() >= kWatchedQueuesMax) return Refusal::kTooMany;
  Queue& queue = store_.queues().at(store_.queues().open(name));
  ++queue.watcher_count;
  if (client.has_fetched) ++queue.taker_count;
  client.watched.push_back(queue.id);
  return client.watched.size();
}

Answer<std::size_t> ConnectedClients::ignore(ClientId id, std::string_view name) {
  Client& client = at(id);
  const Queue* queue = store_.queues().find(name);
  if (queue == nullptr) return client.watched.size();
  const std::optional<std::size_t> place = find_watched(client, queue->id);
  if (!place) return client.watched.size();
  if (client.watched.size() == 1) return Refusal::kLastQueue;
  client.watched.erase(client.watched.begin() + static_cast<std::ptrdiff_t>(*place));
  leave_watched(client, queue->id);
  return client.watched.size();
}

void ConnectedClients::deliver(Client& client, const Delivery& delivery, Time now) {
  CHECK(client.session != nullptr);
  wake(client);
  client.session->deliver(delivery, now);
}

void ConnectedClients::wake(Client& client) {
  // Several deliveries in one turn wake the session once.
  if (!client.is_woken) woken_.push_back(client.id);
  client.is_woken = true;
}

std::vector<Session*> ConnectedClients::take_woken() {
  std::vector<Session*> sessions;
  for (const ClientId id : woken_) {
    Client* client = find(id);
    if (client == nullptr) continue;
    client->is_woken = false;
    sessions.push_back(client->session);
  }
  woken_.clear();
  return sessions;
}

}  // namespace millrace
