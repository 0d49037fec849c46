#include "core/broker/admin_operations.hpp"

#include "core/broker/parts.hpp"

namespace millrace {
namespace {

/// The job is in the state already that the action would bring it to.
bool is_already(const Job& job, Mutation::Action action, const Queue* to) {
  switch (action) {
    case Mutation::Action::kDiscard:
      return false;
    case Mutation::Action::kKill:
      return job.state == JobState::kDead;
    case Mutation::Action::kRequeue:
      return job.state == JobState::kReady;
    case Mutation::Action::kMove:
      return to != nullptr && to->id == job.queue;
  }
  return false;
}

/// Of a job that did not come back, or was not moved.
Refusal why_it_stays(const Job& job) {
  return job.has_body() ? Refusal::kNotUnique : Refusal::kUnreadable;
}

}  // namespace

Answer<Done> AdminOperations::change(JobId id, Mutation::Action action, Time now,
                                     std::string_view to) {
  const Job* job = parts_.ledger.store().jobs().find(id);
  if (job == nullptr || job->state == JobState::kReserved) return Refusal::kNotFound;
  if (is_already(*job, action, parts_.ledger.store().queues().find(to))) return Refusal::kNotFound;
  // It would be gone at once.
  const Time wall = parts_.ledger.store().wall_clock().shown(now);
  if (action == Mutation::Action::kRequeue && job->has_expired(wall)) return Refusal::kExpired;
  if (action == Mutation::Action::kKill && !parts_.admission.admits_growth()) {
    return Refusal::kNoRoom;
  }
  // It is written whole once more.
  if (action == Mutation::Action::kMove && !parts_.admission.admits_jobs()) return Refusal::kNoRoom;
  if (!parts_.moves.change(*job, action, now, to)) return why_it_stays(*job);
  parts_.batch_callbacks.work(now);
  return Done{};
}

Answer<Done> AdminOperations::requeue_later(JobId id, Time due, Time now) {
  const Job* job = parts_.ledger.store().jobs().find(id);
  if (job == nullptr || job->state == JobState::kReserved || job->state == JobState::kReady) {
    return Refusal::kNotFound;
  }
  if (job->has_expired(parts_.ledger.store().wall_clock().shown(due))) return Refusal::kExpired;
  if (!parts_.moves.kick_later(*job, due, now)) return why_it_stays(*job);
  parts_.batch_callbacks.work(now);
  return Done{};
}

Answer<Done> AdminOperations::change_held(JobId id, Mutation::Action action, Time now) {
  const Job* job = parts_.ledger.store().jobs().find(id);
  if (job == nullptr || job->state != JobState::kReserved) return Refusal::kNotFound;
  if (action == Mutation::Action::kMove) return Refusal::kNotFound;
  if (action == Mutation::Action::kKill && !parts_.admission.admits_growth()) {
    return Refusal::kNoRoom;
  }
  // Not a kick: the job was not buried or delayed, so its statistics show a release.
  if (action == Mutation::Action::kRequeue) {
    parts_.moves.release(*job, now);
  } else {
    parts_.moves.change(*job, action, now);
    parts_.batch_callbacks.work(now);
  }
  return Done{};
}

Answer<Done> AdminOperations::free_lock(JobId id, Time now) {
  const Job* job = parts_.ledger.store().jobs().find(id);
  if (job == nullptr || !job->holds_lock()) return Refusal::kNotFound;
  if (!parts_.admission.admits_growth()) return Refusal::kNoRoom;
  parts_.events.free_lock(*job, now);
  return Done{};
}

std::optional<std::uint64_t> AdminOperations::mutate(ClientId client, Mutation mutation, Time now) {
  const auto changed =
      parts_.long_tasks.start(client, MutateTask(parts_.ledger, std::move(mutation)), now);
  parts_.batch_callbacks.work(now);
  return changed;
}

bool AdminOperations::flush(ClientId client, Time now) {
  parts_.ledger.reset_counters();
  return parts_.long_tasks.start(client, FlushTask(parts_.ledger), now).has_value();
}

Answer<Done> AdminOperations::pause(std::string_view queue, std::optional<std::uint32_t> seconds,
                                    Time now) {
  return parts_.pauses.pause(queue, seconds, now);
}

std::optional<std::uint64_t> AdminOperations::pause_queues(ClientId client,
                                                           std::vector<std::string> names,
                                                           std::optional<std::uint32_t> seconds,
                                                           Time now) {
  PauseQueuesTask task{.names = std::move(names), .seconds = seconds};
  return parts_.long_tasks.start(client, std::move(task), now);
}

Answer<Done> AdminOperations::forget_queue(std::string_view name, Time now) {
  Store& store = parts_.ledger.store();
  const Queue* queue = store.queues().find(name);
  if (queue == nullptr) return Refusal::kNotFound;
  const QueueId id = queue->id;
  if (queue->is_kept || queue->paused_until != Time{}) {
    parts_.ledger.commit(QueueChanged{.name = name});
  }
  // Its pause has ended, if it is still there.
  if (store.queues().has(id)) parts_.waits.serve(id, now);
  return Done{};
}

std::optional<std::uint64_t> AdminOperations::remove_queues(ClientId client,
                                                            std::vector<std::string> names,
                                                            Time now) {
  const auto removed =
      parts_.long_tasks.start(client, RemoveQueuesTask(parts_.ledger, std::move(names)), now);
  parts_.batch_callbacks.work(now);
  return removed;
}

void AdminOperations::set_throttle_rules(ThrottleRules rules, Time now) {
  parts_.slots.set_rules(std::move(rules), now);
}

void AdminOperations::set_retry_delays(FindRetryDelays find) {
  parts_.retries.set_delays(std::move(find));
}

std::optional<RetryDelays> AdminOperations::retry_delays_of(const Job& job) const {
  return parts_.retries.delays_of(job);
}

void AdminOperations::set_worker_rules(WorkerRules rules, Time now) {
  parts_.gone.begin(rules, !parts_.ledger.store().jobs().orders().reserved().empty(), now);
}

Answer<Done> AdminOperations::set_throttle(std::string_view name, const ThrottleLimits& limits,
                                           Time now) {
  CHECK(is_valid(limits) && can_have(name, limits));
  if (name.size() > kQueueNameBytesMax) return Refusal::kNameTooLong;
  if (!parts_.admission.admits_growth()) return Refusal::kNoRoom;
  const ThrottleTable& throttles = parts_.ledger.store().throttles().table();
  const Throttle* const known = throttles.find(name);
  const bool is_new = known == nullptr || !known->by_hand;
  if (is_new && throttles.by_hand_count() >= kThrottlesByHandMax) return Refusal::kTooMany;
  parts_.ledger.commit(ThrottleChanged{.queue = name,
                                       .is_by_hand = true,
                                       .limits = limits,
                                       .full_at = known == nullptr ? Time{} : known->full_at});
  parts_.slots.refresh(name, now);
  return Done{};
}

Answer<Done> AdminOperations::remove_throttle(std::string_view name, Time now) {
  const Throttle* const known = parts_.ledger.store().throttles().table().find(name);
  if (known == nullptr || !known->by_hand) return Refusal::kNotFound;
  parts_.ledger.commit(ThrottleRemoved{.queue = name});
  parts_.slots.refresh(name, now);
  return Done{};
}

Answer<Done> AdminOperations::mark_error(std::uint64_t group, ErrorMark mark, Time now) {
  CHECK(mark.note.size() <= kErrorNoteBytesMax);
  const ErrorMarks& marks = parts_.ledger.store().error_marks();
  const ErrorMark* const known = marks.find(group);
  if (mark.is_over(now)) {
    if (known != nullptr) parts_.ledger.commit(ErrorUnmarked{group});
    return Done{};
  }
  const bool is_longer = known == nullptr || mark.note.size() > known->note.size();
  if (is_longer && !parts_.admission.admits_growth()) return Refusal::kNoRoom;
  if (known == nullptr && marks.count() >= kErrorMarksMax) forget_marks(now);
  if (known == nullptr && marks.count() >= kErrorMarksMax) return Refusal::kTooMany;
  parts_.ledger.commit(ErrorMarked{group, std::move(mark)});
  return Done{};
}

void AdminOperations::forget_marks(Time now) {
  const ErrorMarks& marks = parts_.ledger.store().error_marks();
  std::vector<std::uint64_t> over;
  marks.each([&](std::uint64_t group, const ErrorMark& mark) {
    if (mark.is_over(now)) over.push_back(group);
  });
  for (const std::uint64_t group : over) parts_.ledger.commit(ErrorUnmarked{group});
}

Answer<Done> AdminOperations::save_view(std::string name, std::string query) {
  CHECK(name.size() <= ViewSaved::kNameBytesMax && query.size() <= ViewSaved::kQueryBytesMax);
  const SavedViews& views = parts_.ledger.store().saved_views();
  const bool is_known = !views.find(name).empty();
  if (query.empty() && !is_known) return Refusal::kNotFound;
  if (!query.empty() && !parts_.admission.admits_growth()) return Refusal::kNoRoom;
  if (!is_known && views.count() >= SavedViews::kCountMax) return Refusal::kTooMany;
  parts_.ledger.commit(ViewSaved{.name = std::move(name), .query = std::move(query)});
  return Done{};
}

Answer<Done> AdminOperations::add_token(Token token, Time now) {
  if (!parts_.admission.admits_growth()) return Refusal::kNoRoom;
  const Tokens& tokens = parts_.ledger.store().tokens();
  const Time wall = parts_.ledger.store().wall_clock().shown(now);
  std::vector<std::string> expired;
  std::size_t of_user = 0;
  bool is_unique = true;
  tokens.each([&](const Token& each) {
    if (each.has_expired(wall)) return expired.push_back(each.hash);
    if (each.user != token.user) return;
    ++of_user;
    is_unique = is_unique && each.name != token.name;
  });
  if (!is_unique) return Refusal::kNotUnique;
  if (of_user >= kTokensOfUserMax) return Refusal::kTooMany;
  const bool is_full = tokens.count() >= kTokensMax;
  if (tokens.count() - expired.size() >= kTokensMax) return Refusal::kTooMany;
  for (const std::string& hash : expired) {
    const Token& old = *tokens.find(hash);
    const bool is_in_the_way = old.user == token.user && old.name == token.name;
    if (is_full || is_in_the_way) parts_.ledger.commit(TokenRemoved{hash});
  }
  parts_.ledger.commit(TokenAdded{std::move(token)});
  return Done{};
}

Answer<Done> AdminOperations::remove_token(std::string_view hash) {
  if (parts_.ledger.store().tokens().find(hash) == nullptr) return Refusal::kNotFound;
  parts_.ledger.commit(TokenRemoved{hash});
  return Done{};
}

Answer<Worker::State> AdminOperations::order_worker(std::string_view wid, Worker::State asked,
                                                    Time now) {
  return parts_.workers.tell(wid, asked, now);
}

}  // namespace millrace
