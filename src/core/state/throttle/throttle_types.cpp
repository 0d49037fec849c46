#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "core/state/throttle/throttles.hpp"

/// The limits of jobtypes, and which job is next where some wait for their type or their key.
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
  const ThrottleTable::ByName& names = table_.by_name();
  auto each = names.lower_bound(kTypePrefix);
  for (; each != names.end() && is_type_name(each->first); ++each) places.push_back(each->second);
  return places;
}

void Throttles::refresh_types(Time now) {
  type_reader_.forget();
  for (const Place place : types()) table_.at(place).is_named = false;
  for (const std::string& name : rules_.types) table_.open(name).is_named = true;
  const std::vector<Place> all = types();
  has_types_ = rules_.has_types;
  for (const Place place : all) has_types_ = has_types_ || table_.at(place).by_hand;
  are_types_counting_ = has_types_;
  for (const Place place : all) {
    Throttle& type = table_.at(place);
    forget_slots(type);
    std::tie(type.limits, type.rule) = wanted(&type, type.name);
    bound_bucket(type, now);
    // What waits for it is looked at when all is counted, or now if it has no limits any more.
    if (are_types_counting_) begin_count(type);
    free(type);
    table_.collect(type);
  }
  if (are_types_counting_) ++counts_asked_;
}

/// `type:` and the job's type, if that has limits, or else its wrapper; null: neither has any.
const std::string* Throttles::limited_type(const Job& job) {
  return type_reader_.limited_type(job, [this](std::string_view name) {
    return wanted(table_.find(name), name).first.has_any();
  });
}

Throttle& Throttles::open_type(const std::string& name) {
  Throttle& type = table_.open(name);
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
  if (!are_types_counting_ && table_.find(*name) == nullptr) return nullptr;
  return &open_type(*name);
}

// ---- slots --------------------------------------------------------------------------------------

void Throttles::enter_type(const Job& job) {
  const std::string* const name = limited_type(job);
  if (name == nullptr) return;
  Throttle& type = open_type(*name);
  if (take_slot(type, job)) type_slots_[job.id] = type.place;
  table_.collect(type);
}

void Throttles::leave_type(const Job& job) {
  const auto found = type_slots_.find(job.id);
  if (found == type_slots_.end()) return;
  Throttle& type = table_.at(found->second);
  if (job.is_spilled()) type_reader_.note_left(job, type.name);
  give_back(type, job);
  table_.collect(type);
}

void Throttles::count(Queue& queue, const Job& job, Time now) {
  if (queue.throttle != nullptr && queue.throttle->is_counting) {
    take_slot_unless_aged(*queue.throttle, job, now);
  }
  const std::string* const name = are_types_counting_ ? limited_type(job) : nullptr;
  if (name == nullptr) return;
  Throttle& type = open_type(*name);
  if (type.limits.has_slots() && take_slot_unless_aged(type, job, now)) {
    type_slots_[job.id] = type.place;
  }
}

void Throttles::count_begun(Queue& queue, const Job& job, Time now) {
  if (Throttle* const throttle = queue.throttle) {
    count_begun(*throttle, now);
    if (throttle->limits.per_key != 0) queue.lines->take_turn(job);
  }
  const std::string* const name = has_types_ ? limited_type(job) : nullptr;
  if (name == nullptr) return;
  Throttle& type = open_type(*name);
  count_begun(type, now);
  table_.collect(type);
}

void Throttles::count_undone(Queue& queue, const Job& job) {
  if (queue.throttle != nullptr) count_undone(*queue.throttle);
  if (!has_types_ || job.is_spilled()) return;
  const std::string* const name = limited_type(job);
  const auto found = name == nullptr ? table_.by_name().end() : table_.by_name().find(*name);
  if (found != table_.by_name().end()) count_undone(table_.at(found->second));
}

// ---- which job is next --------------------------------------------------------------------------

std::optional<QueueId> Throttles::unpark(Throttle& type) {
  if (type.parked.empty()) return std::nullopt;
  const QueueId id = type.parked.begin()->second;
  type.parked.erase(type.parked.begin());
  queues_.at(id).lines->unpark(type);
  return id;
}

std::optional<ReadyEntry> Throttles::next(Queue& queue, WithBody with_body, Time now) {
  const auto type = [&](JobSlot slot) { return has_types_ ? type_of(with_body(slot)) : nullptr; };
  if (queue.lines == nullptr) {
    const ReadyEntry first = *queue.ready.begin();
    const Throttle* const of_first = type(first.slot);
    if (of_first == nullptr || of_first->has_room(now)) return first;
    lines_.open(queue, false);
  }
  unpark_freed(queue, now);
  const std::uint32_t per_key = queue.throttle == nullptr ? 0 : queue.throttle->limits.per_key;
  const Lines::Next next = queue.lines->next(per_key, type, now);
  if (next.is_cut) lines_.note_unfinished(queue.id);
  return next.job;
}

/// A slot of a type has become free in this turn, and those that were passed over are looked at
/// when it ends. A queue that is asked before does not hand out what comes after them, unless a
/// client of another queue has waited for the slot for longer.
void Throttles::unpark_freed(Queue& queue, Time now) {
  for (const Place place : freed_) {
    Throttle* const type = table_.if_there(place);
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

void Throttles::line_up_some(absl::FunctionRef<const Job&(JobSlot)> job_in) {
  Queue* const queue = lines_.line_up_some(job_in);
  if (queue == nullptr) return;
  queue->throttle->is_lining_up = false;
  free(*queue->throttle);
}

}  // namespace millrace
