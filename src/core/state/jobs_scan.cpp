#include <algorithm>
#include <limits>

#include "core/state/jobs_view.hpp"

/// Walks over jobs. A walk can stop anywhere and continue later.
namespace millrace {
namespace {

ScanPlace place_of(const ReadyEntry& entry, const Queue& queue) {
  return {.created = queue.created, .major = entry.pri, .minor = entry.sequence};
}

ScanPlace place_of(const TimeEntry& entry, const Queue&) {
  return {.major = entry.when.time_since_epoch().count(), .minor = entry.id};
}

ScanPlace place_of(const JobsByState::Entry& entry, const Queue&) {
  return {.minor = entry.id};
}

/// An entry to search for. Slot 0 sorts before all entries of that place, kNoSlot after them.
ReadyEntry entry_at(const ScanPlace& place, JobSlot slot, const ReadyOrder&) {
  return {.pri = static_cast<Pri>(place.major), .slot = slot, .sequence = place.minor};
}

JobsByState::Entry entry_at(const ScanPlace& place, JobSlot slot, const JobsByState::Order&) {
  return {.id = place.minor, .slot = slot};
}

template <typename Order>
TimeEntry entry_at(const ScanPlace& place, JobSlot slot, const Order&) {
  return {.when = Time{Duration{place.major}}, .id = place.minor, .slot = slot};
}

/// Reading a body from the log costs as much as looking at this many further jobs.
constexpr std::size_t kLoadSteps = 9;

/// One walk: its parameters and its progress.
struct Walk {
  const ScanOrder& order;
  const JobsView::ScanVisitor& visit;
  std::size_t steps_max;
  ScanEnd end = {};
  std::size_t steps = 0;    ///< its cost so far
  bool is_stopped = false;  ///< by the visitor

  [[nodiscard]] bool is_over() const { return is_stopped || steps >= steps_max; }

  [[nodiscard]] bool visits(const Queue& queue) const {
    return order.queues.empty() || queue.name.starts_with(order.queues);
  }

  void pass(ScanPlace place) {
    ++steps;
    ++end.jobs;
    end.next = place;
  }

  /// False when the walk is over.
  bool look_at(const Job& job, ScanPlace place) {
    pass(place);
    is_stopped = job.state == order.state && !visit(job);
    return !is_over();
  }
};

/// The jobs of an order are scattered in memory. So a walk prefetches them some steps ahead: first
/// the job, and its body once the job has arrived.
template <typename Iterator>
class FetchAhead {
 public:
  FetchAhead(Iterator next, Iterator end, const Store& store)
      : job_(next), body_(next), end_(end), store_(store) {
    for (std::size_t i = 0; i < kJobsAhead; ++i) fetch_job();
    for (std::size_t i = 0; i < kBodiesAhead; ++i) fetch_body();
  }

  void step() {
    fetch_job();
    fetch_body();
  }

 private:
  static constexpr std::size_t kJobsAhead = 16;
  static constexpr std::size_t kBodiesAhead = 8;
  static constexpr std::size_t kLineBytes = 64;

  void fetch_job() {
    if (job_ == end_) return;
    const auto* const job = reinterpret_cast<const char*>(&store_.jobs().at((*job_).slot));
    for (std::size_t at = 0; at < sizeof(Job); at += kLineBytes) __builtin_prefetch(job + at);
    ++job_;
  }

  void fetch_body() {
    if (body_ == end_) return;
    const Job& job = store_.jobs().at((*body_).slot);
    if (job.body) __builtin_prefetch(job.body.get());
    ++body_;
  }

  Iterator job_;
  Iterator body_;
  Iterator end_;
  const Store& store_;
};

/// True after the last entry.
template <typename Order>
bool walk_entries(Walk& walk, const Order& entries, const Store& store,
                  std::optional<ScanPlace> after, const Queue* only) {
  const auto step = [&](const auto& entry) {
    const Job& job = store.jobs().at(entry.slot);
    const Queue& queue = store.queues().at(job.queue);
    const ScanPlace place = place_of(entry, queue);
    const bool is_of_queue = only == nullptr ? walk.visits(queue) : only == &queue;
    if (is_of_queue) {
      // Before the visitor sees it: visitors read bodies without asking.
      if (job.state == walk.order.state && job.is_spilled()) {
        static_cast<void>(store.jobs().load_body(job));
        walk.steps += kLoadSteps;
      }
      return walk.look_at(job, place);
    }
    walk.pass(place);
    return !walk.is_over();
  };
  if (walk.order.is_backwards) {
    auto next = after ? entries.lower_bound(entry_at(*after, 0, entries)) : entries.end();
    while (next != entries.begin()) {
      // A walk that stops at the very last entry is complete: no client asks for an empty page.
      if (!step(*--next)) return next == entries.begin();
    }
    return true;
  }
  auto next = after ? entries.upper_bound(entry_at(*after, kNoSlot, entries)) : entries.begin();
  FetchAhead ahead(next, entries.end(), store);
  for (; next != entries.end(); ++next) {
    ahead.step();
    if (!step(*next)) return std::next(next) == entries.end();
  }
  return true;
}

/// The place before every ready job of the next queue, whichever that will be. No sequence is 0.
ScanPlace end_of(const Queue& queue, bool is_backwards) {
  if (!is_backwards) return {.created = queue.created + 1};
  return {.created = queue.created - 1,
          .major = std::numeric_limits<Pri>::max(),
          .minor = std::numeric_limits<std::uint64_t>::max()};
}

/// False when the walk is over before the end of this queue.
bool walk_ready(Walk& walk, const Store& store, const Queue& queue,
                const std::optional<ScanPlace>& after) {
  if (walk.visits(queue)) {
    const bool is_first = after && after->created == queue.created;
    if (!walk_entries(walk, queue.ready, store, is_first ? after : std::nullopt, nullptr)) {
      return false;
    }
    if (walk.is_over()) return true;
  } else {
    walk.end.jobs += queue.ready.size();
  }
  // Each queue costs a step, so that a walk over many empty ones is bounded too.
  ++walk.steps;
  walk.end.next = end_of(queue, walk.order.is_backwards);
  return true;
}

/// The ready jobs of all queues, in the order of the queues' creation.
bool walk_queues(Walk& walk, const Store& store, const std::optional<ScanPlace>& after) {
  const Queues::Creation& queues = store.queues().by_creation();
  if (walk.order.is_backwards) {
    auto place = after ? queues.upper_bound(after->created) : queues.end();
    while (place != queues.begin()) {
      --place;
      if (!walk_ready(walk, store, store.queues().at(place->second), after)) return false;
      if (walk.is_over()) return place == queues.begin();
    }
    return true;
  }
  auto place = queues.lower_bound(after ? after->created : 0);
  for (; place != queues.end(); ++place) {
    if (!walk_ready(walk, store, store.queues().at(place->second), after)) return false;
    if (walk.is_over()) return std::next(place) == queues.end();
  }
  return true;
}

/// Of jobs that are neither ready nor scheduled: their order in the queue, if it keeps one, else
/// that of the whole server.
const TimeOrder& order_of(const Store& store, const Queue* queue, JobState state) {
  switch (state) {
    case JobState::kRetrying:
      return queue != nullptr ? queue->delayed.steady : store.jobs().orders().retrying();
    case JobState::kDead:
      return queue != nullptr ? queue->dead : store.jobs().orders().dead();
    case JobState::kReserved:
    case JobState::kReady:
    case JobState::kScheduled:
      break;
  }
  return store.jobs().orders().reserved();
}

/// Jobs that are not ready, of the queue or of all.
bool walk_by_time(Walk& walk, const Store& store, const Queue* queue,
                  std::optional<ScanPlace> after) {
  const JobState state = walk.order.state;
  if (state == JobState::kScheduled) {
    const MergedDue due = queue != nullptr ? store.delayed(*queue) : store.scheduled();
    return walk_entries(walk, due, store, after, nullptr);
  }
  // Queues keep no order of reserved jobs.
  const Queue* const only = state == JobState::kReserved ? queue : nullptr;
  return walk_entries(walk, order_of(store, queue, state), store, after, only);
}

/// Of both a batch and a group, it is the batch that is walked: the visitor asks for the group.
const JobsByState::Order& order_by_id(const Store& store, const ScanOrder& order) {
  const JobOrders& orders = store.jobs().orders();
  return order.batch != 0 ? orders.members().of(order.batch, order.state)
                          : orders.failures().of(order.group, order.state);
}

bool walk_by_id(Walk& walk, const Store& store, std::optional<ScanPlace> after) {
  const ScanOrder& order = walk.order;
  const Queue* const queue = order.queue.empty() ? nullptr : store.queues().find(order.queue);
  if (queue == nullptr && !order.queue.empty()) return true;
  return walk_entries(walk, order_by_id(store, order), store, after, queue);
}

bool walk_one_queue(Walk& walk, const Store& store, std::optional<ScanPlace> after) {
  const Queue* queue = store.queues().find(walk.order.queue);
  if (queue == nullptr) return true;
  if (walk.order.state == JobState::kReady) {
    return walk_entries(walk, queue->ready, store, after, nullptr);
  }
  return walk_by_time(walk, store, queue, after);
}

}  // namespace

ScanEnd JobsView::scan(const ScanOrder& order, std::optional<ScanPlace> after,
                       std::size_t steps_max, const ScanVisitor& visit) const {
  Walk walk{.order = order, .visit = visit, .steps_max = steps_max};
  bool is_through = false;
  if (order.is_by_id()) {
    is_through = walk_by_id(walk, store_, after);
  } else if (!order.queue.empty()) {
    is_through = walk_one_queue(walk, store_, after);
  } else if (order.state == JobState::kReady) {
    is_through = walk_queues(walk, store_, after);
  } else {
    is_through = walk_by_time(walk, store_, nullptr, after);
  }
  // A cursor tells the client to ask again, so a complete walk has none.
  if (is_through) walk.end.next.reset();
  return walk.end;
}

std::uint64_t JobsView::scan_length(const ScanOrder& order) const {
  if (order.is_by_id()) return order_by_id(store_, order).size();
  // Reserved jobs are walked in the order of all, whatever queue is asked for.
  if (order.queue.empty() || order.state == JobState::kReserved)
    return store_.jobs().orders().count(order.state);
  const Queue* queue = store_.queues().find(order.queue);
  if (queue == nullptr) return 0;
  if (order.state == JobState::kReady) return queue->ready.size();
  if (order.state == JobState::kScheduled) return queue->delayed.size();
  return order_of(store_, queue, order.state).size();
}

Time JobsView::oldest_ready(const Queue& queue) const {
  Time oldest = kNever;
  auto first = queue.ready.begin();
  // The first job of each priority. Few priorities are in use, so a few looks are enough.
  for (std::size_t i = 0; i < kPrioritiesLookedAt && first != queue.ready.end(); ++i) {
    oldest = std::min(oldest, store_.jobs().at(first->slot).enqueued_at);
    first = queue.ready.upper_bound(ReadyEntry{
        .pri = first->pri, .slot = kNoSlot, .sequence = std::numeric_limits<Sequence>::max()});
  }
  return oldest;
}

}  // namespace millrace
