#include <utility>

#include "base/check.hpp"
#include "core/throttle/throttles.hpp"

/// The limits of jobtypes, and the lines of jobs that they make necessary.
namespace millrace {
namespace {

std::vector<ThrottleRule> type_rules(const ThrottleRules& rules) {
  std::vector<ThrottleRule> found;
  for (const ThrottleRule& rule : rules.list) {
    if (is_type_name(rule.pattern)) found.push_back(rule);
  }
  return found;
}

}  // namespace

// ---- limits -------------------------------------------------------------------------------------

void Throttles::set_rules(ThrottleRules rules, Time now) {
  const bool has_same_types = has_begun_ && type_rules(rules) == type_rules(rules_);
  rules_ = std::move(rules);
  has_begun_ = true;
  if (!has_same_types) refresh_types(now);
}

std::vector<Throttles::Place> Throttles::types() const {
  std::vector<Place> places;
  auto each = names_.lower_bound(kTypePrefix);
  for (; each != names_.end() && is_type_name(each->first); ++each) places.push_back(each->second);
  return places;
}

void Throttles::refresh_types(Time now) {
  type_at_hand_ = {};
  for (const Place place : types()) throttles_[place]->is_named = false;
  for (const std::string& name : rules_.types) throttles_[open(name)]->is_named = true;
  const std::vector<Place> all = types();
  has_types_ = rules_.has_types;
  for (const Place place : all) has_types_ = has_types_ || throttles_[place]->by_hand;
  are_types_counting_ = has_types_;
  for (const Place place : all) {
    Throttle& type = *throttles_[place];
    forget_slots(type);
    std::tie(type.limits, type.rule) = wanted(&type, type.name);
    bound_bucket(type, now);
    // What waits for it is looked at when all is counted, or now if it has no limits any more.
    if (are_types_counting_) begin_count(type);
    free(type);
    collect(place);
  }
  if (are_types_counting_) ++counts_asked_;
}

/// Notes its name as that of the type at hand.
bool Throttles::is_limited(std::string_view jobtype) {
  std::string& name = type_at_hand_.name;
  name.assign(kTypePrefix).append(jobtype);
  return name.size() <= kQueueNameBytesMax && wanted(find(name), name).first.has_any();
}

/// `type:` and the job's type, if that has limits, or else its wrapper; null: neither has any.
const std::string* Throttles::limited_type(const Job& job) {
  if (format_ == nullptr) return nullptr;
  if (job.is_spilled()) return type_that_left_.job == job.id ? &type_that_left_.name : nullptr;
  const std::string_view part = format_->type_part(job);
  if (part.empty()) return nullptr;
  TypeAtHand& known = type_at_hand_;
  if (known.part.empty() || !part.starts_with(known.part)) {
    const WorkUnitFormat::Type type = format_->read_type(part);
    if (type.name.empty()) return nullptr;
    known.part = part.substr(0, type.bytes);
    known.is_limited = is_limited(type.name) || (!type.wrapper.empty() && is_limited(type.wrapper));
  }
  return known.is_limited ? &known.name : nullptr;
}

Throttle& Throttles::open_type(const std::string& name) {
  Throttle& type = *throttles_[open(name)];
  if (type.limits.has_any()) return type;
  std::tie(type.limits, type.rule) = wanted(&type, name);
  if (are_types_counting_) begin_count(type);
  return type;
}

/// The throttle of the job's type; null where all that may be known of it is that it has room.
Throttle* Throttles::type_of(const Job& job) {
  const std::string* const name = limited_type(job);
  if (name == nullptr) return nullptr;
  // A type of which nothing runs has room, unless it is not known yet what runs.
  if (!are_types_counting_ && !names_.contains(*name)) return nullptr;
  return &open_type(*name);
}

// ---- slots --------------------------------------------------------------------------------------

void Throttles::enter_type(const Job& job) {
  const std::string* const name = limited_type(job);
  if (name == nullptr) return;
  Throttle& type = open_type(*name);
  if (enter(type, job)) type_slots_[job.id] = type.place;
  collect(type.place);
}

void Throttles::leave_type(const Job& job) {
  const auto found = type_slots_.find(job.id);
  if (found == type_slots_.end()) return;
  const Place place = found->second;
  if (job.is_spilled()) type_that_left_ = {.job = job.id, .name = throttles_[place]->name};
  leave(*throttles_[place], job);
  collect(place);
}

void Throttles::count_type(const Job& job, Time now) {
  const std::string* const name = limited_type(job);
  if (name == nullptr) return;
  Throttle& type = open_type(*name);
  if (type.limits.has_slots() && count(type, job, now)) type_slots_[job.id] = type.place;
}

void Throttles::count_type_begun(const Job& job, Time now) {
  const std::string* const name = limited_type(job);
  if (name == nullptr) return;
  Throttle& type = open_type(*name);
  count_begun(type, now);
  collect(type.place);
}

void Throttles::count_type_undone(const Job& job) {
  if (job.is_spilled()) return;
  const std::string* const name = limited_type(job);
  const auto found = name == nullptr ? names_.end() : names_.find(*name);
  if (found != names_.end()) count_undone(*throttles_[found->second]);
}

std::optional<QueueId> Throttles::unpark(Throttle& type) {
  if (type.parked.empty()) return std::nullopt;
  const QueueId id = type.parked.begin()->second;
  type.parked.erase(type.parked.begin());
  queues_.at(id).lines->unpark(type);
  return id;
}

// ---- lines --------------------------------------------------------------------------------------

void Throttles::set_keys(Throttle& throttle, Queue& queue, bool has_keys) {
  dismiss_lines(queue);
  throttle.is_lining_up = false;
  if (!has_keys) return;
  std::unique_ptr<Lines>& lines = lines_[queue.id];
  lines = std::make_unique<Lines>(*this, queue, true);
  queue.lines = lines.get();
  if (lines->is_complete()) return;
  throttle.is_lining_up = true;
  lining_up_.push_back(queue.id);
}

/// A million entries are not freed at once.
void Throttles::dismiss_lines(Queue& queue) {
  if (queue.lines == nullptr) return;
  const auto found = lines_.find(queue.id);
  found->second->dismiss();
  if (!found->second->clear_some()) dismissed_.push_back(std::move(found->second));
  lines_.erase(found);
  queue.lines = nullptr;
}

void Throttles::leave_line(Queue& queue, const Job& job, const ReadyEntry& entry, bool comes_back) {
  queue.lines->leave(job, entry, comes_back);
  if (queue.lines->is_idle()) dismiss_lines(queue);
}

std::optional<ReadyEntry> Throttles::next(Queue& queue, WithBody with_body, Time now) {
  const auto type = [&](JobSlot slot) { return has_types_ ? type_of(with_body(slot)) : nullptr; };
  if (queue.lines == nullptr) {
    const ReadyEntry first = *queue.ready.begin();
    const Throttle* const of_first = type(first.slot);
    if (of_first == nullptr || of_first->has_room(now)) return first;
    std::unique_ptr<Lines>& lines = lines_[queue.id];
    lines = std::make_unique<Lines>(*this, queue, false);
    queue.lines = lines.get();
  }
  unpark_freed(queue, now);
  const std::uint32_t per_key = queue.throttle == nullptr ? 0 : queue.throttle->limits.per_key;
  const Lines::Next next = queue.lines->next(per_key, type, now);
  if (next.is_cut) unfinished_.push_back(queue.id);
  return next.job;
}

/// A slot of a type has become free in this turn, and those that were passed over are looked at
/// when it ends. A queue that is asked before does not hand out what comes after them, unless a
/// client of another queue has waited for the slot for longer.
void Throttles::unpark_freed(Queue& queue, Time now) {
  for (const Place place : freed_) {
    Throttle* const type = throttles_[place].get();
    if (type == nullptr || !type->is_type || !type->has_room(now)) continue;
    std::size_t looks = 0;
    for (const auto& [ticket, id] : type->parked) {
      if (id == queue.id) {
        type->parked.erase(ticket);
        queue.lines->unpark(*type);
        break;
      }
      if (!queues_.at(id).waiting.empty() || ++looks == kSliceJobs) break;
    }
  }
}

std::optional<QueueId> Throttles::take_unfinished() {
  while (!unfinished_.empty()) {
    const QueueId id = unfinished_.back();
    unfinished_.pop_back();
    if (queues_.has(id)) return id;
  }
  return std::nullopt;
}

void Throttles::line_up_some(absl::FunctionRef<const Job&(JobSlot)> job_in) {
  if (!dismissed_.empty() && dismissed_.back()->clear_some()) dismissed_.pop_back();
  if (lining_up_.empty()) return;
  const QueueId id = lining_up_.back();
  // The queue may be gone, or have other limits.
  Queue* const queue = queues_.has(id) ? &queues_.at(id) : nullptr;
  const bool lines_up =
      queue != nullptr && queue->throttle != nullptr && queue->throttle->is_lining_up;
  if (lines_up) queue->lines->complete_some(job_in);
  if (lines_up && !queue->lines->is_complete()) return;
  lining_up_.pop_back();
  if (!lines_up) return;
  queue->throttle->is_lining_up = false;
  free(*queue->throttle);
}

}  // namespace millrace
