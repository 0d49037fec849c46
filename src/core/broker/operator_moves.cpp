#include <algorithm>

#include "core/broker/broker_state.hpp"

/// What an operator does by hand, job by job and queue by queue.
namespace millrace {
namespace {

bool is_already(const Job& job, Mutation::Action action) {
  switch (action) {
    case Mutation::Action::kDiscard:
      return false;
    case Mutation::Action::kKill:
      return job.state == JobState::kDead;
    case Mutation::Action::kRequeue:
      return job.state == JobState::kReady;
  }
  return false;
}

}  // namespace

Answer<Done> Broker::change(JobId id, Mutation::Action action, Time now) {
  const Job* job = state_->store().find(id);
  if (job == nullptr || job->state == JobState::kReserved) return Refusal::kNotFound;
  if (is_already(*job, action)) return Refusal::kNotFound;
  if (action == Mutation::Action::kKill && !state_->takes_longer()) return Refusal::kNoRoom;
  state_->mutate(*job, action, now);
  return Done{};
}

/// The holder is not told. What it says of the job later is answered as of any that it does not
/// hold.
Answer<Done> Broker::take_back(JobId id, Mutation::Action action, Time now) {
  const Job* job = state_->store().find(id);
  if (job == nullptr || job->state != JobState::kReserved) return Refusal::kNotFound;
  if (action == Mutation::Action::kKill && !state_->takes_longer()) return Refusal::kNoRoom;
  if (action != Mutation::Action::kRequeue) {
    state_->mutate(*job, action, now);
    return Done{};
  }
  JobFields fields = Store::fields_of(*job);
  ++fields.tallies.releases;
  state_->make_ready(*job, std::move(fields), now);
  return Done{};
}

Answer<Done> Broker::forget_queue(std::string_view name, Time now) {
  const Queue* queue = state_->store().find_queue(name);
  if (queue == nullptr) return Refusal::kNotFound;
  const QueueId id = queue->id;
  if (queue->is_kept || queue->paused_until != Time{}) {
    state_->ledger.commit(QueueChanged{.name = name});
  }
  if (state_->store().has_queue(id)) state_->serve(id, now);
  return Done{};
}

Answer<Worker::State> Broker::tell_worker(std::string_view wid, Worker::State asked, Time now) {
  const auto found = state_->workers.find(std::string(wid));
  if (found == state_->workers.end()) return Refusal::kNotFound;
  Worker& worker = found->second;
  worker.state = std::max(worker.state, asked);
  if (worker.state != Worker::State::kRunning) state_->end_waits_of(worker, now);
  return worker.state;
}

}  // namespace millrace
