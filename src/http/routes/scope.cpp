#include "http/routes/scope.hpp"

#include "http/kit/text.hpp"

namespace millrace::http {
namespace {

std::uint64_t count_in(const Queue& queue, JobState state) {
  switch (state) {
    case JobState::kReady:
      return queue.ready.size();
    case JobState::kReserved:
      return queue.reserved_count;
    case JobState::kScheduled:
      return queue.scheduled_count();
    case JobState::kRetrying:
      return queue.retrying_count;
    case JobState::kDead:
      return queue.dead.size();
  }
  return 0;
}

}  // namespace

Response refuse_user(std::string_view user, access::Right needed, std::string_view where) {
  return refuse(403, concat(user, " needs the right ", name_of(needed), " for ", where),
                kNotAllowed);
}

Response Scope::refuse_for(std::string_view where) const {
  return refuse_user(user(), right_, where);
}

void QueueSums::add(const Queue& queue, Time now) {
  queues.insert(queue.created);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i] += count_in(queue, static_cast<JobState>(i));
  }
  if (!queue.meter) return;
  enqueued += queue.meter->enqueued.total;
  processed += queue.meter->processed.total;
  failed += queue.meter->failed.total;
  enqueued_per_s += queue.meter->enqueued.rate.per_second(now);
  processed_per_s += queue.meter->processed.rate.per_second(now);
  failed_per_s += queue.meter->failed.rate.per_second(now);
}

std::uint64_t ScopedQueues::count(JobState state, const View& view) const {
  return sums_ ? sums_->jobs[static_cast<std::size_t>(state)] : view.orders().count(state);
}

std::size_t ScopedQueues::size(const View& view) const {
  return sums_ ? sums_->queues.size() : view.queues().by_creation().size();
}

Trend::Rates rates_of(const ScopedQueues& queues, const Trend& trend) {
  constexpr Duration kSpan = 30s;
  const QueueSums* const sums = queues.sums();
  if (sums == nullptr) return trend.rates(kSpan);
  return {.processed = sums->processed_per_s,
          .failed = sums->failed_per_s,
          .enqueued = sums->enqueued_per_s};
}

std::string ScopedQueues::only(const View& view) const {
  if (!sums_ || sums_->queues.size() != 1) return {};
  const auto found = view.queues().by_creation().find(*sums_->queues.begin());
  return found == view.queues().by_creation().end() ? "" : view.queues().at(found->second).name;
}

bool ScopeWalk::work(const View& view, Time now) {
  if (queues_.scope().is_all()) return true;
  const auto look = [&](const Queue& queue) {
    if (queues_.scope().has(queue.name)) sums_.add(queue, now);
  };
  if (!walk_.visit_some(view, look, kQueuesATurn)) return false;
  // Shared: see there.
  queues_.sums_ = std::make_shared<const QueueSums>(std::move(sums_));
  return true;
}

}  // namespace millrace::http
