#include "http/routes/measures/series.hpp"

#include <algorithm>
#include <functional>

namespace millrace::http {
namespace {

constexpr Duration kInterval = kSpans.front().interval;

/// It was read within the longest span.
bool is_recent(const Line& line, const Ends& ends) {
  constexpr std::int64_t kIntervals =
      kSpans.back().points * (kSpans.back().interval / kSpans.front().interval);
  return line.end() > ends.front() - kIntervals;
}

}  // namespace

const Line* Series::find_queue(std::string_view name) const {
  const auto found = queues_.find(name);
  return found == queues_.end() ? nullptr : &found->second->line;
}

const Line* Series::find_type(std::string_view name) const {
  if (const auto found = type_places_.find(name); found != type_places_.end()) {
    return types_[found->second].line.get();
  }
  const auto former = former_types_.find(name);
  return former == former_types_.end() ? nullptr : former->second.get();
}

std::vector<std::string> Series::queue_names() const {
  std::vector<std::string> names;
  for (const auto& [name, line] : queues_) names.push_back(name);
  return names;
}

std::vector<std::string> Series::type_names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : type_places_) names.push_back(name);
  for (const auto& [name, line] : former_types_) {
    if (names.size() >= TypeMeters::kTypesMax) break;
    if (is_recent(*line, ends_)) names.push_back(name);
  }
  return names;
}

void Series::restore(Lines lines, Time now) {
  server_ = std::move(lines.server);
  is_restored_ = true;
  for (std::vector<NamedLine>* const list : {&lines.queues, &lines.types}) {
    std::erase_if(*list, [ends = ends_at(now)](const NamedLine& each) {
      return !is_recent(each.line, ends);
    });
    std::ranges::stable_sort(*list, std::greater(),
                             [](const NamedLine& each) { return each.line.end(); });
  }
  for (auto& [name, line] : lines.queues) {
    if (queues_.size() == kQueuesMax) break;
    const std::int64_t active_at = line.end();
    queues_.emplace(
        name,
        std::make_unique<QueueLine>(QueueLine{
            .name = name, .created = kNotRead, .active_at = active_at, .line = std::move(line)}));
  }
  for (auto& [name, line] : lines.types) {
    if (former_types_.size() == TypeMeters::kTypesMax) break;
    former_types_.emplace(name, std::make_unique<Line>(std::move(line)));
  }
}

void Series::work(const Broker& broker, Time now) {
  if (now < next_) return;
  if (!is_in_round_) begin_round(broker, now);
  next_ = now + kTurnPause;
  const View& view = broker.view();
  if (next_queue_ < queues_end_) {
    next_queue_ = view.queues().page(next_queue_, queues_end_, kMetersATurn,
                                     [this](const Queue& queue) { read(queue); });
    return;
  }
  if (next_type_ < types_.size()) return read_types();
  end_round(view);
  next_ = Time{(ends_.front() + 1) * kInterval};
}

void Series::begin_round(const Broker& broker, Time now) {
  is_in_round_ = true;
  round_ends_ = ends_at(now);
  if (is_restored_) leave_gaps();
  next_queue_ = 0;
  new_queues_ = queues_end_;
  queues_end_ = broker.view().queues().next_creation();
  next_type_ = 0;
  find_new_types(broker.types());
  idle_.clear();
  had_room_ = queues_.size() < kQueuesMax;
  if (had_room_) return;
  const std::int64_t idle_since = round_ends_.front() - kIdleAfter / kInterval;
  for (const auto& [name, each] : queues_) {
    if (each->active_at < idle_since) idle_.emplace_back(each->active_at, name);
  }
  std::sort(idle_.begin(), idle_.end(), std::greater<>());
}

void Series::leave_gaps() {
  if (server_) server_->leave_gap(round_ends_);
  for (const auto& [name, each] : queues_) each->line.leave_gap(round_ends_);
  for (const auto& [name, line] : former_types_) line->leave_gap(round_ends_);
}

void Series::read(const Queue& queue) {
  const auto found = by_creation_.find(queue.created);
  if (found == by_creation_.end()) return admit(queue);
  QueueLine& each = *found->second;
  const Reading reading = reading_of(queue);
  add_times(each.line.last(), reading, times_);
  if (each.line.note(reading, round_ends_)) each.active_at = round_ends_.front();
}

/// A line for a queue that has none, or the one that another queue of that name had.
void Series::admit(const Queue& queue) {
  if (!queue.meter && queue.job_count() == 0) return;
  const auto known = queues_.find(queue.name);
  if (known != queues_.end()) {
    QueueLine& each = *known->second;
    by_creation_.erase(std::exchange(each.created, queue.created));
    by_creation_.emplace(queue.created, &each);
    each.line.restart(round_ends_);
    return read(queue);
  }
  if (queues_.size() == kQueuesMax && !forget_idle()) return;
  const Reading reading = reading_of(queue);
  // Where there was room, the last round has found all that were in use.
  const bool is_old = !had_room_ && queue.created < new_queues_;
  if (!is_old) add_times({}, reading, times_);
  auto line = std::make_unique<QueueLine>(QueueLine{.name = queue.name,
                                                    .created = queue.created,
                                                    .active_at = round_ends_.front(),
                                                    .line = {reading, round_ends_, is_old}});
  by_creation_.emplace(queue.created, line.get());
  queues_.emplace(queue.name, std::move(line));
}

/// False: each line was active not long ago.
bool Series::forget_idle() {
  while (!idle_.empty()) {
    const auto [active_at, name] = std::move(idle_.back());
    idle_.pop_back();
    const auto found = queues_.find(name);
    // It may have become active in this round.
    if (found->second->active_at != active_at) continue;
    by_creation_.erase(found->second->created);
    queues_.erase(found);
    return true;
  }
  return false;
}

void Series::find_new_types(const TypeMeters& types) {
  if (types.size() == types_.size()) return;
  types.each([this](std::string_view name, const TypeMeter& meter) {
    const bool is_new = type_places_.try_emplace(std::string(name), types_.size()).second;
    if (!is_new) return;
    TypeLine& type = types_.emplace_back(TypeLine{.meter = &meter, .line = nullptr});
    const auto former = former_types_.find(name);
    if (former == former_types_.end()) return;
    type.line = std::move(former->second);
    type.line->restart(round_ends_);
    former_types_.erase(former);
  });
}

void Series::read_types() {
  const std::size_t end = std::min(next_type_ + kMetersATurn, types_.size());
  for (; next_type_ < end; ++next_type_) {
    TypeLine& each = types_[next_type_];
    const Reading reading = reading_of(*each.meter);
    if (each.line) {
      each.line->note(reading, round_ends_);
    } else {
      each.line = std::make_unique<Line>(reading, round_ends_, false);
    }
  }
}

void Series::end_round(const View& view) {
  Reading all = times_;
  all.ready = view.orders().count(JobState::kReady);
  all.enqueued = view.tally().jobs_put;
  all.processed = view.counters().processed;
  all.failed = view.counters().failed;
  if (server_) {
    if (is_restored_) server_->restart(round_ends_, all);
    server_->note(all, round_ends_);
  } else {
    // What it counted before belongs to earlier days.
    server_.emplace(all, round_ends_, true);
  }
  is_restored_ = false;
  ends_ = round_ends_;
  is_in_round_ = false;
}

}  // namespace millrace::http
