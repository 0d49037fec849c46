#include "core/broker/bulk_changes.hpp"

#include <algorithm>
#include <utility>

#include "core/model/codec.hpp"

namespace millrace {
namespace {

/// The place of a job in an order, which is not that of ready jobs.
ScanPlace place_of(const Job& job, const ScanOrder& order, WallClock clock) {
  if (order.is_by_id()) return {.minor = job.id};
  return {.major = job.steady_when(clock).time_since_epoch().count(), .minor = job.id};
}

/// The earliest time at which the job can have entered its state.
Time came_at(const Job& job) {
  return job.state == JobState::kDead ? job.when : job.enqueued_at;
}

}  // namespace

ScanOrder BulkChanges::order_of(const Change& change) const {
  return {.state = change.request.states[change.next_state],
          .queue = change.request.queue,
          .batch = change.request.batch,
          .group = change.request.group};
}

std::optional<std::uint64_t> BulkChanges::start(Request request, Time now) {
  // Each keeps its filter in memory, and takes a slice in its turn.
  if (running_.size() >= kRunningMax) return std::nullopt;
  Change change;
  change.progress.id = next_id_++;
  change.progress.title = request.title;
  change.progress.user = request.user;
  change.progress.queue = request.queue;
  change.progress.started_at = now;
  change.request = std::move(request);
  JobId& id_end = change.request.bounds.id_end;
  // Jobs that come later are not what the person saw: they are left alone, and cannot prolong the
  // change.
  id_end = std::min(id_end, broker_.view().counters().next_id);
  // A reserved job belongs to its worker. Taking it away is a request of its own.
  std::erase(change.request.states, JobState::kReserved);
  for (; change.next_state < change.request.states.size(); ++change.next_state) {
    change.progress.to_look_at += broker_.view().jobs().scan_length(order_of(change));
  }
  change.next_state = 0;
  running_.push_back(std::move(change));
  return running_.back().progress.id;
}

bool BulkChanges::cancel(std::uint64_t id, Time now) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const Change& change) { return change.progress.id == id; });
  if (found == running_.end()) return false;
  Change change = std::move(*found);
  running_.erase(found);
  end(std::move(change), Phase::kCancelled, now);
  return true;
}

const BulkChanges::Progress* BulkChanges::find(std::uint64_t id) const {
  for (const Change& change : running_) {
    if (change.progress.id == id) return &change.progress;
  }
  for (const Progress& progress : ended_) {
    if (progress.id == id) return &progress;
  }
  return nullptr;
}

std::vector<BulkChanges::Progress> BulkChanges::list() const {
  std::vector<Progress> all;
  for (const Change& change : running_) all.push_back(change.progress);
  all.insert(all.end(), ended_.begin(), ended_.end());
  return all;
}

void BulkChanges::begin_state(Change& change) const {
  change.after.reset();
  change.last.reset();
  change.asked = 0;
  change.is_state_over = false;
  change.has_begun_state = true;
  change.clock = broker_.view().wall_clock();
  // The last job of now is the end: jobs that enter the state later come after it, also those that
  // this change moves there.
  ScanOrder backwards = order_of(change);
  if (backwards.is_by_id()) {
    change.last = ScanPlace{.minor = change.request.bounds.id_end};
    return;
  }
  // Ready jobs of all queues have no common end; their sequences tell which of them came later.
  if (backwards.state == JobState::kReady) return;
  backwards.is_backwards = true;
  std::optional<ScanPlace> last;
  const ScanEnd end = broker_.view().jobs().scan(backwards, {}, kSliceChanges, [&](const Job& job) {
    last = place_of(job, backwards, change.clock);
    return false;
  });
  // The slice may have met jobs of other states only: the last job of this state is before them.
  change.last = last ? last : end.next;
}

/// The next jobs to change. They are collected first and changed afterwards, since a change alters
/// the order that the walk is in.
std::vector<JobId> BulkChanges::collect(Change& change) const {
  const View& view = broker_.view();
  std::vector<JobId> ids;
  std::size_t read_bytes = 0;
  Steps steps(kSliceSteps);
  bool is_past_last = false;
  const std::uint64_t left = change.request.bounds.changes_max - change.progress.changed;
  const ScanOrder order = order_of(change);
  const ScanEnd end = view.jobs().scan(order, change.after, kSliceChanges, [&](const Job& job) {
    if (change.last) {
      is_past_last = *change.last < place_of(job, order, change.clock);
      if (is_past_last) return false;
    }
    if (!is_meant(change, job)) return true;
    // By the record's length, which includes error texts.
    read_bytes +=
        encoded_bytes(job, view.queues().at(job.queue).name, view.jobs().attempts_of(job));
    const JobMatcher& matches = change.request.matches;
    const Match match = matches ? matches(job, view.queues().at(job.queue), steps) : Match::kYes;
    if (match == Match::kUnfinished) {
      change.asked = job.id;
      return false;
    }
    if (match == Match::kYes) ids.push_back(job.id);
    return read_bytes < kSliceBodyBytes && ids.size() < left;
  });
  change.progress.looked_at += end.jobs;
  change.after = end.next;
  change.is_state_over = !end.next || is_past_last;
  return ids;
}

/// About the job for which the slice before had too few steps left.
std::vector<JobId> BulkChanges::ask_again(Change& change) const {
  const View& view = broker_.view();
  const JobId id = std::exchange(change.asked, 0);
  const Job* job = view.jobs().find(id);
  const bool is_there = job != nullptr && job->state == order_of(change).state;
  if (!is_there || !is_meant(change, *job)) return {};
  Steps steps(kSliceSteps);
  const Match match = change.request.matches(*job, view.queues().at(job->queue), steps);
  if (match == Match::kUnfinished) change.asked = id;
  return match == Match::kYes ? std::vector<JobId>{id} : std::vector<JobId>{};
}

/// False: the job was not among those that were counted when the person agreed.
bool BulkChanges::is_meant(const Change& change, const Job& job) {
  const Bounds& bounds = change.request.bounds;
  return job.sequence < bounds.id_end && came_at(job) <= bounds.counted_at;
}

bool BulkChanges::change_one(const Change& change, JobId id, Time now) {
  const Progress& progress = change.progress;
  const Request& request = change.request;
  if (request.spread == Duration{}) {
    return broker_.admin().change(id, request.action, now, request.to).has_value();
  }
  const std::uint64_t all = std::min(change.request.bounds.changes_max, progress.to_look_at);
  const double part = static_cast<double>(progress.changed) / static_cast<double>(all + 1);
  const Time due = progress.started_at + std::chrono::duration_cast<Duration>(
                                             change.request.spread * std::min(part, 1.0));
  if (due <= now) return broker_.admin().change(id, request.action, now).has_value();
  return broker_.admin().requeue_later(id, due, now).has_value();
}

bool BulkChanges::work(Time now) {
  if (running_.empty()) return false;
  // Taken out for the slice: the one that ran goes to the end, so that all have the same share.
  Change change = std::move(running_.front());
  running_.pop_front();
  if (change.has_work()) {
    // Scheduled jobs are in another order when the wall clock was set meanwhile.
    const bool is_in_order = change.clock == broker_.view().wall_clock();
    if (!change.has_begun_state || !is_in_order) begin_state(change);
    const bool is_asking = change.asked != 0;
    for (const JobId id : is_asking ? ask_again(change) : collect(change)) {
      // A refusal is no failure: the job may be in that state already, or the disk may be full.
      if (change_one(change, id, now)) ++change.progress.changed;
    }
    if (change.is_state_over && change.asked == 0) {
      ++change.next_state;
      change.has_begun_state = false;
    }
  }
  if (change.has_work()) {
    running_.push_back(std::move(change));
  } else {
    const Queue* queue = broker_.view().queues().find(change.request.queue);
    // With jobs left in it the queue stays as it was, and a pause stays in force.
    if (change.request.forgets_queue && queue != nullptr && queue->job_count() == 0) {
      static_cast<void>(broker_.admin().forget_queue(change.request.queue, now));
    }
    end(std::move(change), Phase::kDone, now);
  }
  return !running_.empty();
}

void BulkChanges::end(Change change, Phase phase, Time now) {
  change.progress.phase = phase;
  change.progress.ended_at = now;
  broker_.activity().finish_operation(change.progress.id, change.progress.changed);
  ended_.push_front(std::move(change.progress));
  if (ended_.size() > kEndedKept) ended_.pop_back();
}

}  // namespace millrace
