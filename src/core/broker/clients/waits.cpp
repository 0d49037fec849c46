#include "core/broker/clients/waits.hpp"

#include <algorithm>

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
  for (const QueueId id : wait.queues)
    store_.queues().at(id).waiting.emplace(wait.ticket, client.id);
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
  for (const QueueId id : wait.queues) store_.queues().at(id).waiting.erase(wait.ticket);
  for (const QueueId id : wait.queues) {
    // A queue named twice is collected once.
    if (store_.queues().has(id)) store_.queues().collect(id);
  }
}

void Waits::end(Client& client, Delivery::Kind kind, Time now) {
  end(client);
  clients_.deliver(client, {.kind = kind}, now);
}

std::size_t Waits::serve(QueueId id, Time now) {
  Queue& queue = store_.queues().at(id);
  // Most calls end here: every job that becomes ready asks for waiting clients.
  if (queue.waiting.empty() || queue.is_paused(now)) return 0;
  const QueueGuard guard(queue);
  std::size_t served = 0;
  for (; !queue.waiting.empty() && !queue.ready.empty(); ++served) {
    if (served == kSliceJobs) {
      // The rest in a later slice: a kick of a million jobs may serve thousands of clients.
      unserved_.insert(id);
      break;
    }
    // Tickets grow, so the client that has waited for longest is first.
    Client& client = clients_.at(queue.waiting.begin()->second);
    CHECK(client.wait);
    // Before the wait ends, since it can fail: then the client waits on.
    store_.jobs().load_body(store_.jobs().at(queue.ready.begin()->slot));
    Reservation reservation = reservation_for(client.id, client.wait->wid);
    end(client);
    const Job& job = reservations_.begin_first(queue, std::move(reservation), now);
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
