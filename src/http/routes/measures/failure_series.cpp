#include "http/routes/measures/failure_series.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.hpp"
#include "core/model/failure_group.hpp"

namespace millrace::http {
namespace {

/// Where the ring of a span begins among all points.
constexpr std::size_t begin_of(std::size_t span) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < span; ++i) begin += kSpans[i].points;
  return begin;
}

std::size_t place_of(std::size_t span, std::int64_t interval) {
  return begin_of(span) + static_cast<std::size_t>(interval) % kSpans[span].points;
}

}  // namespace

void FailureSeries::on_failed(const Failure& failure, JobId job, Time now) {
  Group* const group = find_or_admit(failure, now);
  if (group == nullptr) return;
  group->last_at = now;
  group->last_job = job;
  const Ends ends = ends_at(now);
  for (std::size_t i = 0; i < kSpans.size(); ++i) count_in(*group, i, ends[i]);
}

FailureSeries::Group* FailureSeries::find_or_admit(const Failure& failure, Time now) {
  const std::uint64_t number = failure_group_number(failure);
  const auto found = places_.find(number);
  if (found != places_.end()) {
    groups_.splice(groups_.begin(), groups_, found->second);
    return &groups_.front();
  }
  if (groups_.size() == kGroupsMax) {
    if (now - groups_.back().last_at < kIdleAfter) return nullptr;
    places_.erase(groups_.back().number);
    groups_.pop_back();
  }
  groups_.push_front(
      {.number = number,
       .name = {.type = std::string(cut(failure.errtype, kNameBytesMax)),
                .message = std::string(cut(normalized_message(failure.message), kNameBytesMax))},
       .last_at = now});
  const Ends ends = ends_at(now);
  for (std::size_t i = 0; i < kSpans.size(); ++i) {
    groups_.front().rings[i] = {.begin = ends[i], .last = ends[i]};
  }
  places_.emplace(number, groups_.begin());
  return &groups_.front();
}

void FailureSeries::count_in(Group& group, std::size_t span, std::int64_t interval) {
  Ring& ring = group.rings[span];
  if (interval > ring.last) {
    const auto count = static_cast<std::int64_t>(kSpans[span].points);
    const std::int64_t first = std::max(ring.last + 1, interval - count + 1);
    for (std::int64_t i = first; i < interval; ++i) {
      group.points[place_of(span, i)] = SmallNumber(0);
    }
    ring.last = interval;
    ring.current = 0;
  }
  group.points[place_of(span, interval)] = SmallNumber(++ring.current);
}

std::optional<FailureSeries::Saved> FailureSeries::save(std::uint64_t number) const {
  const auto found = places_.find(number);
  if (found == places_.end()) return std::nullopt;
  const Group& group = *found->second;
  Saved saved{.number = number, .name = group.name, .last_at = group.last_at};
  append_bytes(group.rings, saved.bytes);
  append_bytes(group.points, saved.bytes);
  return saved;
}

void FailureSeries::restore(Saved saved, Time now) {
  if (groups_.size() == kGroupsMax || places_.contains(saved.number)) return;
  Group group{.number = saved.number, .name = std::move(saved.name), .last_at = saved.last_at};
  std::string_view bytes = saved.bytes;
  const bool is_whole =
      take_bytes(bytes, group.rings) && take_bytes(bytes, group.points) && bytes.empty();
  if (!is_whole || saved.last_at > now) return;
  const Ends ends = ends_at(now);
  for (std::size_t i = 0; i < kSpans.size(); ++i) {
    const Ring& ring = group.rings[i];
    if (ring.begin < 0 || ring.begin > ring.last || ring.last > ends[i]) return;
  }
  groups_.push_back(std::move(group));
  places_.emplace(saved.number, std::prev(groups_.end()));
}

std::vector<std::uint64_t> FailureSeries::groups_since(Time begin) const {
  std::vector<std::uint64_t> numbers;
  for (auto at = groups_.begin(); at != groups_.end() && at->last_at >= begin; ++at) {
    numbers.push_back(at->number);
  }
  return numbers;
}

std::optional<Time> FailureSeries::last_at(std::uint64_t group) const {
  const auto found = places_.find(group);
  return found == places_.end() ? std::nullopt : std::optional(found->second->last_at);
}

JobId FailureSeries::last_job(std::uint64_t group) const {
  const auto found = places_.find(group);
  return found == places_.end() ? 0 : found->second->last_job;
}

const FailureSeries::Name* FailureSeries::name(std::uint64_t group) const {
  const auto found = places_.find(group);
  return found == places_.end() ? nullptr : &found->second->name;
}

std::optional<std::vector<std::uint64_t>> FailureSeries::counts(std::uint64_t group,
                                                                std::size_t span,
                                                                std::int64_t ends) const {
  const auto found = places_.find(group);
  if (found == places_.end()) return std::nullopt;
  const Ring& ring = found->second->rings[span];
  const auto count = static_cast<std::int64_t>(kSpans[span].points);
  std::vector<std::uint64_t> counts;
  for (std::int64_t i = std::max(ring.begin, ends - count); i < ends; ++i) {
    const bool is_known = i <= ring.last && i > ring.last - count;
    counts.push_back(is_known ? found->second->points[place_of(span, i)].value().value_or(0) : 0);
  }
  return counts;
}

}  // namespace millrace::http
