#include "core/state/index/failure_groups.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "core/model/failure_group.hpp"

namespace millrace {
namespace {

std::uint64_t group_of(const Job& job) {
  return job.failure() == nullptr ? 0 : failure_group_number(*job.failure());
}

Time last_failed_at(const Failure& failure, const Attempts* attempts) {
  Time last = failure.failed_at;
  if (attempts == nullptr) return last;
  for (const Attempt& each : attempts->list) {
    if (each.has_failure) last = each.ended;
  }
  return last;
}

/// As far as its attempts tell. The last one has no texts of its own: they are the failure's.
bool has_one_errtype(const Failure& failure, const Attempts* attempts) {
  return attempts == nullptr || std::ranges::none_of(attempts->list, [&](const Attempt& each) {
           return !each.errtype.empty() && each.errtype != failure.errtype;
         });
}

}  // namespace

void FailureGroups::enter(const Job& job, JobSlot slot, const Attempts* attempts) {
  const std::uint64_t left = std::exchange(left_, 0);
  const std::uint64_t number = group_of(job);
  if (number != 0) {
    Group& group = groups_[number];
    group.jobs.enter(job, slot);
    ++group.queues[job.queue];
    const Time last = last_failed_at(*job.failure(), attempts);
    group.last_at = std::max(group.last_at, last);
    if (left != number) {
      const bool is_first = left == 0 && has_one_errtype(*job.failure(), attempts);
      group.first_at = std::min(group.first_at, is_first ? job.failure()->failed_at : last);
    }
  }
  if (left == number) return;
  if (number != 0) resize(number, +1);
  if (left != 0) resize(left, -1);
}

void FailureGroups::leave(const Job& job, JobSlot slot, bool is_removed) {
  const std::uint64_t number = group_of(job);
  if (number == 0) return;
  const auto found = groups_.find(number);
  CHECK(found != groups_.end());
  Group& group = found->second;
  group.jobs.leave(job, slot);
  const auto queue = group.queues.find(job.queue);
  CHECK(queue != group.queues.end());
  if (--queue->second == 0) group.queues.erase(queue);
  CHECK(left_ == 0);
  if (is_removed) return resize(number, -1);
  left_ = number;
}

JobId FailureGroups::Group::sample() const {
  const auto state =
      std::ranges::find_if(kSampled, [this](JobState each) { return !jobs.of(each).empty(); });
  CHECK(state != kSampled.end());
  return jobs.of(*state).rbegin()->id;
}

void FailureGroups::resize(std::uint64_t number, int by) {
  const auto found = groups_.find(number);
  CHECK(found != groups_.end());
  std::size_t& size = found->second.size;
  if (size > 0) by_size_.erase({.size = size, .group = number});
  size += static_cast<std::size_t>(by);
  size_ += static_cast<std::size_t>(by);
  if (size > 0) {
    by_size_.insert({.size = size, .group = number});
  } else {
    groups_.erase(found);
  }
}

const FailureGroups::Group* FailureGroups::find(std::uint64_t group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() ? nullptr : &found->second;
}

const JobsByState::Order& FailureGroups::of(std::uint64_t group, JobState state) const {
  static const JobsByState::Order kNone;
  const Group* const found = find(group);
  return found == nullptr ? kNone : found->jobs.of(state);
}

std::size_t FailureGroups::memory_bytes() const {
  constexpr std::size_t kQueueBytes = 48;  // of a group with one
  return groups_.size() * (sizeof(Groups::value_type) + sizeof(Place) + kQueueBytes) +
         size_ * JobsByState::kEntryBytes;
}

}  // namespace millrace
