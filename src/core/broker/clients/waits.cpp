#include "core/broker/clients/waits.hpp"

#include <algorithm>
#include <optional>

#include "core/broker/queue_guard.hpp"

namespace millrace {
namespace {

/// To enter a queue's line and to leave it costs about as much as looking at so many queues.
constexpr std::size_t kWaitSteps = 8;

}  // namespace

void Waits::begin(Client& client, const ReserveRequest& request) {
  CHECK(!client.wait);
  Wait wait;
  wait.ticket = next_ticket_++;
  wait.wid = request.wid;
  wait.until = request.wait_until;
  wait.is_listed = request.choice == ReserveRequest::Choice::kFirstListed;
  if (request.choice == ReserveRequest::Choice::kSmallest) {
    // A copy: the wait must leave exactly the queues that it has entered.
    wait.queues = client.watched;
  } else {
    for (const std::string_view name : request.queues) {
      // A queue with a longer name can never hold a job.
      if (name.size() <= kQueueNameBytesMax) wait.queues.push_back(store_.queues().open(name));
    }
  }
  step_count_ += kWaitSteps * wait.queues.size();
  for (const QueueId id : wait.queues) {
    Queue& queue = store_.queues().at(id);
    const bool has_entered = queue.waiting.emplace(wait.ticket, client.id).second;
    if (has_entered && wait.is_listed) ++queue.taker_count;
    if (queue.throttle != nullptr && !queue.ready.empty()) await_token(*queue.throttle);
  }
  set_alarm(client, wait);
  client.wait = std::move(wait);
  ++tally_.waiting;
}

void Waits::end(Client& client) {
  CHECK(client.wait);
  const Wait wait = std::move(*client.wait);
  client.wait.reset();
  CHECK(tally_.waiting > 0);
  --tally_.waiting;
  clear_alarm(client, wait);
  for (const QueueId id : wait.queues) {
    Queue& queue = store_.queues().at(id);
    const bool has_left = queue.waiting.erase(wait.ticket) > 0;
    if (!has_left || !wait.is_listed) continue;
    CHECK(queue.taker_count > 0);
    --queue.taker_count;
  }
  for (const QueueId id : wait.queues) {
    // A queue named twice is collected once.
    if (store_.queues().has(id)) store_.queues().collect(id);
  }
}

void Waits::end(Client& client, Delivery::Kind kind, Time now) {
  end(client);
  clients_.deliver(client, {.kind = kind}, now);
}

/// A slot that becomes free tells of itself. A token does not.
void Waits::await_token(Throttle& throttle) {
  if (!throttle.limits.has_rate()) return;
  store_.throttles().table().alarms().set(throttle,
                                          TokenBucket(throttle.limits).next_at(throttle.full_at));
}

/// The client that has waited for longest, of those that may have a job of the queue now; null when
/// there is none.
Client* Waits::next_of(Queue& queue, Time now) {
  if (queue.throttle != nullptr) return next_admitted(queue, now);
  // Tickets grow.
  return &clients_.at(queue.waiting.begin()->second);
}

Client* Waits::next_admitted(Queue& queue, Time now) {
  Throttle& throttle = *queue.throttle;
  Throttles& throttles = store_.throttles();
  if (!throttle.has_room(now)) {
    const bool lacks_token =
        throttle.limits.has_rate() && TokenBucket(throttle.limits).next_at(throttle.full_at) > now;
    if (lacks_token) await_token(throttle);
    return nullptr;
  }
  auto place = queue.waiting.lower_bound(throttle.passed_over);
  for (std::size_t looks = 0; place != queue.waiting.end(); ++place, ++looks) {
    // The rest in a later slice, which begins where this one ends.
    if (looks == kSliceJobs) {
      unserved_.insert(queue.id);
      break;
    }
    Client& client = clients_.at(place->second);
    CHECK(client.wait);
    const std::string_view wid = client.wait->wid ? std::string_view(*client.wait->wid) : "";
    if (throttles.admits(throttle, wid, client.id)) return &client;
    throttle.passed_over = place->first + 1;
  }
  return nullptr;
}

std::size_t Waits::serve(QueueId id, Time now) {
  Queue& queue = store_.queues().at(id);
  // Most calls end here: every job that becomes ready asks for waiting clients.
  if (queue.waiting.empty() || queue.is_paused(now)) return 0;
  const QueueGuard guard(queue);
  std::size_t served = 0;
  std::size_t unreadable = 0;
  for (; !queue.waiting.empty() && !queue.ready.empty(); ++served) {
    if (served == kSliceJobs) {
      // The rest in a later slice: a kick of a million jobs may serve thousands of clients.
      unserved_.insert(id);
      break;
    }
    Client* const next = next_of(queue, now);
    if (next == nullptr) break;
    // The look for a job removes expired ones.
    const std::optional<ReadyEntry> entry = reservations_.next(queue, now);
    if (!entry) break;
    Client& client = *next;
    CHECK(client.wait);
    const Job& job = store_.jobs().at(entry->slot);
    if (!unreadable_.can_run(job, now)) {
      // The client waits on for the next one. Each look waits for a disk.
      if (++unreadable < kUnreadableInARow) continue;
      unserved_.insert(id);
      break;
    }
    std::optional<std::string> wid = client.wait->wid;
    end(client);
    reservations_.begin_next(job, client, std::move(wid), now);
    clients_.deliver(client, {.kind = Delivery::Kind::kJob, .job = &job}, now);
  }
  return served;
}

void Waits::serve_unserved(Time now) {
  for (std::size_t done = 0; done < kSliceJobs && !unserved_.empty(); ++done) {
    const QueueId id = *unserved_.begin();
    unserved_.erase(unserved_.begin());
    if (store_.queues().has(id)) done += serve(id, now);
  }
}

void Waits::end_due(Time now) {
  // A client that waits in one of these queues may still get a job at this very moment.
  if (!unserved_.empty()) return;
  for (std::size_t rung = 0; rung < kSliceJobs; ++rung) {
    if (alarms_.empty() || alarms_.begin()->first > now) return;
    ring(clients_.at(alarms_.begin()->second), now);
  }
}

/// The wait ends; or the alarm was early, since a deadline has moved, and it is set again.
void Waits::ring(Client& client, Time now) {
  CHECK(client.wait);
  Wait& wait = *client.wait;
  const Time soon_at = wait.wid ? kNever : reservations_.deadline_soon_at(client.id);
  if (soon_at <= now) return end(client, Delivery::Kind::kDeadlineSoon, now);
  if (wait.until <= now) return end(client, Delivery::Kind::kTimedOut, now);
  clear_alarm(client, wait);
  set_alarm(client, wait);
}

/// A worker's jobs are held by the worker and not by the connection: they end no wait.
void Waits::set_alarm(const Client& client, Wait& wait) {
  wait.alarm =
      wait.wid ? wait.until : std::min(wait.until, reservations_.deadline_soon_at(client.id));
  if (wait.alarm != kNever) alarms_.emplace(wait.alarm, client.id);
}

void Waits::clear_alarm(const Client& client, const Wait& wait) {
  if (wait.alarm == kNever) return;
  const std::size_t erased = alarms_.erase({wait.alarm, client.id});
  CHECK(erased == 1);
}

Time Waits::next_due() const {
  if (!unserved_.empty()) return kAtOnce;
  return alarms_.empty() ? kNever : alarms_.begin()->first;
}

}  // namespace millrace
