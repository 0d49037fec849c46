#include "core/state/jobs_view.hpp"

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
      return &store.jobs().orders().retrying();
    case JobState::kReserved:
      return &store.jobs().orders().reserved();
    case JobState::kDead:
      return &store.jobs().orders().dead();
    case JobState::kScheduled:
    case JobState::kReady:
      return nullptr;
  }
  return nullptr;
}

template <typename Order>
void page_of(const Store& store, const Order& order, const JobsView::Cursor& after,
             std::size_t limit, const JobsView::Visitor& visit) {
  // Ids are unique, so the slot decides nothing.
  auto place = order.upper_bound(TimeEntry{.when = after.when, .id = after.id, .slot = 0});
  for (; place != order.end() && limit > 0; ++place, --limit) {
    visit(store.jobs().with_body((*place).slot));
  }
}

}  // namespace

std::vector<JobId> JobsView::named(std::uint32_t hash, std::size_t limit) const {
  const Jobs& jobs = store_.jobs();
  std::vector<JobId> ids;
  for (const JobSlot slot : jobs.names().candidates(hash, limit)) ids.push_back(jobs.at(slot).id);
  return ids;
}

const Job* JobsView::first_ready(const Queue& queue) const {
  return first_of(store_, queue.ready);
}
const Job* JobsView::first_delayed(const Queue& queue) const {
  return first_of(store_, store_.delayed(queue));
}
const Job* JobsView::first_dead(const Queue& queue) const {
  return first_of(store_, queue.dead);
}

void JobsView::page(JobState state, Cursor after, std::size_t limit, const Visitor& visit) const {
  if (state == JobState::kScheduled) {
    return page_of(store_, store_.scheduled(), after, limit, visit);
  }
  // Ready jobs have another order: see `page_ready`.
  if (const TimeOrder* order = order_of(store_, state)) {
    page_of(store_, *order, after, limit, visit);
  }
}

void JobsView::page_ready(const Queue& queue, ReadyCursor after, std::size_t limit,
                          const Visitor& visit) const {
  auto place = queue.ready.upper_bound(
      ReadyEntry{.pri = after.pri, .slot = kNoSlot, .sequence = after.sequence});
  for (; place != queue.ready.end() && limit > 0; ++place, --limit) {
    visit(store_.jobs().with_body(place->slot));
  }
}

void JobsView::page_locks(const std::optional<LockKey>& after, std::size_t limit,
                          const std::function<bool(const Job&)>& visit) const {
  for (const JobSlot slot : store_.jobs().locks().page(after, limit)) {
    if (!visit(store_.jobs().with_body(slot))) return;
  }
}

}  // namespace millrace
