#include "core/broker/view.hpp"

namespace millrace {
namespace {

template <typename Order>
const Job* first_of(const Store& store, const Order& order) {
  return order.empty() ? nullptr : &store.jobs().with_body((*order.begin()).slot);
}

/// Null for states that have no order by one time.
const TimeOrder* order_of(const Store& store, JobState state) {
  switch (state) {
    case JobState::kRetrying:
      return &store.orders().retrying();
    case JobState::kReserved:
      return &store.orders().reserved();
    case JobState::kDead:
      return &store.orders().dead();
    case JobState::kScheduled:
    case JobState::kReady:
      return nullptr;
  }
  return nullptr;
}

template <typename Order>
void page_of(const Store& store, const Order& order, const View::Cursor& after, std::size_t limit,
             const View::JobVisitor& visit) {
  // Ids are unique, so the slot decides nothing.
  auto place = order.upper_bound(TimeEntry{.when = after.when, .id = after.id, .slot = 0});
  for (; place != order.end() && limit > 0; ++place, --limit) {
    visit(store.jobs().with_body((*place).slot));
  }
}

}  // namespace

std::vector<JobId> View::named(std::uint32_t hash, std::size_t limit) const {
  const Jobs& jobs = store().jobs();
  std::vector<JobId> ids;
  for (const JobSlot slot : jobs.names().candidates(hash, limit)) ids.push_back(jobs.at(slot).id);
  return ids;
}

void View::each_queue(const std::function<void(const Queue&)>& visit) const {
  for (const auto& [created, id] : store().queues().by_creation()) visit(store().queues().at(id));
}

std::uint64_t View::page_queues(std::uint64_t begin, std::uint64_t end, std::size_t limit,
                                const std::function<void(const Queue&)>& visit) const {
  auto place = store().queues().by_creation().lower_bound(begin);
  for (; place != store().queues().by_creation().end() && place->first < end; ++place, --limit) {
    // The place to continue at. It may be removed until then: the next one after it will do.
    if (limit == 0) return place->first;
    visit(store().queues().at(place->second));
  }
  return end;
}

void View::each_listed_queue(const std::function<void(const Queue&)>& visit) const {
  for (const QueueId id : store().queues().listed()) visit(store().queues().at(id));
}

const Job* View::first_ready(const Queue& queue) const {
  return first_of(store(), queue.ready);
}
const Job* View::first_delayed(const Queue& queue) const {
  return first_of(store(), store().delayed(queue));
}
const Job* View::first_dead(const Queue& queue) const {
  return first_of(store(), queue.dead);
}

void View::page(JobState state, Cursor after, std::size_t limit, const JobVisitor& visit) const {
  if (state == JobState::kScheduled) {
    return page_of(store(), store().scheduled(), after, limit, visit);
  }
  // Ready jobs have another order: see `page_ready`.
  if (const TimeOrder* order = order_of(store(), state)) {
    page_of(store(), *order, after, limit, visit);
  }
}

void View::page_ready(const Queue& queue, ReadyCursor after, std::size_t limit,
                      const JobVisitor& visit) const {
  auto place = queue.ready.upper_bound(
      ReadyEntry{.pri = after.pri, .slot = kNoSlot, .sequence = after.sequence});
  for (; place != queue.ready.end() && limit > 0; ++place, --limit) {
    visit(store().jobs().with_body(place->slot));
  }
}

void View::page_throttles(std::string_view after, std::size_t limit,
                          const std::function<void(const Throttle&)>& visit) const {
  const ThrottleTable& throttles = store().throttles().table();
  auto place = throttles.by_name().upper_bound(after);
  for (; place != throttles.by_name().end() && limit > 0; ++place, --limit) {
    visit(throttles.at(place->second));
  }
}

void View::page_locks(const std::optional<LockKey>& after, std::size_t limit,
                      const std::function<bool(const Job&)>& visit) const {
  for (const JobSlot slot : store().jobs().locks().page(after, limit)) {
    if (!visit(store().jobs().with_body(slot))) return;
  }
}

const Queue* View::used_queue(ClientId client) const {
  const auto found = clients_.find(client);
  if (found == clients_.end() || !found->second.used) return nullptr;
  return &store().queues().at(*found->second.used);
}

void View::each_watched(ClientId client, const std::function<void(const Queue&)>& visit) const {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  for (const QueueId id : found->second.watched) visit(store().queues().at(id));
}

void View::each_server(const Queue& queue, std::size_t limit, Time now,
                       const std::function<void(const Worker&)>& visit) const {
  std::size_t seen = 0;
  for (const auto& [wid, worker] : workers_) {
    if (!worker.queues.has(queue.name, now)) continue;
    if (++seen > limit) return;
    visit(worker);
  }
}

const Worker* View::worker_of(ClientId client) const {
  const auto found = clients_.find(client);
  if (found == clients_.end() || found->second.wid.empty()) return nullptr;
  const auto worker = workers_.find(found->second.wid);
  return worker == workers_.end() ? nullptr : &worker->second;
}

}  // namespace millrace
