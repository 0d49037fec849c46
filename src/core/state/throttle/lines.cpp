#include "core/state/throttle/lines.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "core/state/throttle/throttle_table.hpp"

namespace millrace {

Lines::Lines(ThrottleTable& table, LineCounts& counts, const Queue& queue, bool has_keys)
    : table_(table), counts_(counts), queue_(queue), has_keys_(has_keys) {
  if (has_keys_) {
    is_complete_ = queue.ready.empty();
  } else {
    settle(open_line(rest_, open_key("")));
  }
}

Lines::~Lines() = default;

std::string_view Lines::key_of(const Job& job) const {
  return has_keys_ && job.features ? job.features->key() : std::string_view();
}

bool Lines::is_looked_at(const ReadyEntry& entry) const {
  return is_complete_ || (looked_to_ && !(*looked_to_ < entry));
}

// ---- jobs come and go ---------------------------------------------------------------------------

void Lines::enter(const Job& job, const ReadyEntry& entry) {
  if (is_looked_at(entry)) {
    JobKey& key = open_key(key_of(job));
    begin_turn(key);
    Line& line = open_line(rest_, key);
    insert(line, entry);
    settle(line);
  } else if (!has_keys_) {
    // It may be the first of those that were not looked at.
    settle(open_line(rest_, open_key("")));
  }
  collect_kept();
}

void Lines::leave(const Job& job, const ReadyEntry& entry, bool comes_back) {
  if (!is_looked_at(entry)) {
    if (!has_keys_) settle(open_line(rest_, open_key("")));
    return;
  }
  Line* line = nullptr;
  if (const auto found = skipped_.find(entry); found != skipped_.end()) {
    line = found->second;
    skipped_.erase(found);
  } else {
    line = &open_line(rest_, open_key(key_of(job)));
  }
  CHECK(erase(*line, entry));
  settle(*line);
  kept_ = line;
  if (!comes_back) collect_kept();
}

void Lines::collect_kept() {
  if (Line* const line = std::exchange(kept_, nullptr)) collect(*line);
}

void Lines::complete_some(absl::FunctionRef<const Job&(JobSlot)> job_in) {
  CHECK(has_keys_);
  auto place = looked_to_ ? queue_.ready.upper_bound(*looked_to_) : queue_.ready.begin();
  for (std::size_t moved = 0; moved < kSliceJobs && place != queue_.ready.end(); ++moved, ++place) {
    JobKey& key = open_key(key_of(job_in(place->slot)));
    begin_turn(key);
    Line& line = open_line(rest_, key);
    insert(line, *place);
    settle(line);
    looked_to_ = *place;
  }
  is_complete_ = place == queue_.ready.end();
}

// ---- whose turn it is ---------------------------------------------------------------------------

Lines::Next Lines::next(std::uint32_t per_key, TypeOf type_of, Time now) {
  for (std::size_t looks = 0; looks < kSliceJobs; ++looks) {
    if (open_.empty()) return {};
    LineGroup& group = *open_.begin()->second;
    if (group.type != nullptr && !group.type->has_room(now)) {
      park(group, now);
      continue;
    }
    Line& line = *group.open.begin()->second;
    JobKey& key = *line.key;
    if (per_key != 0 && !key.text.empty() && key.taken >= per_key) {
      key.is_closed = true;
      closed_.insert(&key);
      settle(key);
      continue;
    }
    const ReadyEntry entry = line.rank.first;
    Throttle* const type = group.type == nullptr ? type_of(entry.slot) : nullptr;
    if (type == nullptr) return {.job = entry};
    if (!type->has_room(now)) {
      skip(line, entry, *type);
    } else if (!unpark_earlier(*type)) {
      return {.job = entry};
    }
  }
  return {.job = std::nullopt, .is_cut = true};
}

/// The job waits in the line of its type.
void Lines::skip(Line& line, const ReadyEntry& entry, Throttle& type) {
  Line& other = open_line(open_group(type), *line.key);
  if (!erase(line, entry)) looked_to_ = entry;
  insert(other, entry);
  skipped_.emplace(entry, &other);
  settle(other);
  settle(line);
  collect(line);
}

void Lines::park(LineGroup& group, Time now) {
  group.parked = ++group.type->tickets;
  group.type->parked.emplace(group.parked, queue_.id);
  table_.alarms().await_token(*group.type, now);
  settle(group);
}

void Lines::unpark(const Throttle& type) {
  const auto found = types_.find(&type);
  CHECK(found != types_.end());
  found->second->parked = 0;
  settle(*found->second);
}

/// The type has a free slot, and jobs of it that were passed over still wait to be looked at: they
/// come before one that was not. Whether there are such.
bool Lines::unpark_earlier(Throttle& type) {
  const auto found = types_.find(&type);
  if (found == types_.end() || found->second->parked == 0) return false;
  type.parked.erase(found->second->parked);
  unpark(type);
  return true;
}

/// A job of the key comes, and no other one waits: it comes last. Without keys all are in order.
void Lines::begin_turn(JobKey& key) {
  if (has_keys_ && key.lines.empty()) key.turn = ++turn_;
}

void Lines::take_turn(const Job& job) {
  CHECK(has_keys_);
  const auto found = keys_.find(key_of(job));
  if (found == keys_.end()) return;
  found->second->turn = ++turn_;
  settle(*found->second);
}

// ---- slots --------------------------------------------------------------------------------------

JobKey* Lines::take_slot(const Job& job) {
  const std::string_view text = key_of(job);
  if (text.empty()) return nullptr;
  JobKey& key = open_key(text);
  ++key.taken;
  return &key;
}

void Lines::give_back(JobKey& key) {
  CHECK(key.taken > 0);
  --key.taken;
  open_key_again(key);
  collect(key);
}

void Lines::open_key_again(JobKey& key) {
  if (!std::exchange(key.is_closed, false)) return;
  closed_.erase(&key);
  settle(key);
}

void Lines::open_keys() {
  while (!closed_.empty()) open_key_again(**closed_.begin());
}

// ---- to be looked at ----------------------------------------------------------------------------

const JobKey* Lines::find(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : found->second.get();
}

// ---- keys, groups and lines ---------------------------------------------------------------------

void Lines::insert(Line& line, const ReadyEntry& entry) {
  line.jobs.insert(entry);
  ++counts_.jobs;
}

/// False: it is not there.
bool Lines::erase(Line& line, const ReadyEntry& entry) {
  if (line.jobs.erase(entry) == 0) return false;
  --counts_.jobs;
  return true;
}

JobKey& Lines::open_key(std::string_view text) {
  const auto found = keys_.find(text);
  if (found != keys_.end()) return *found->second;
  ++counts_.keys;
  auto key = std::make_unique<JobKey>();
  key->owner = this;
  key->text = text;
  return *keys_.emplace(text, std::move(key)).first->second;
}

LineGroup& Lines::open_group(Throttle& type) {
  std::unique_ptr<LineGroup>& group = types_[&type];
  if (!group) {
    group = std::make_unique<LineGroup>();
    group->type = &type;
    ++type.groups;
  }
  return *group;
}

Line& Lines::open_line(LineGroup& group, JobKey& key) {
  std::unique_ptr<Line>& line = key.lines[&group];
  if (!line) {
    line = std::make_unique<Line>();
    line->group = &group;
    line->key = &key;
    ++group.line_count;
  }
  return *line;
}

std::optional<ReadyEntry> Lines::first_of(const Line& line) const {
  // Those that came back to their old place come before all that was not looked at.
  if (!line.jobs.empty()) return *line.jobs.begin();
  if (has_keys_ || line.group != &rest_) return std::nullopt;
  const auto place = looked_to_ ? queue_.ready.upper_bound(*looked_to_) : queue_.ready.begin();
  return place == queue_.ready.end() ? std::nullopt : std::optional(*place);
}

/// Puts the line where its first job and its key belong.
void Lines::settle(Line& line) {
  LineGroup& group = *line.group;
  const std::optional<ReadyEntry> first = line.key->is_closed ? std::nullopt : first_of(line);
  const LineRank rank{.turn = line.key->turn, .first = first.value_or(ReadyEntry{})};
  const bool is_same = !(rank < line.rank) && !(line.rank < rank);
  if (line.is_open == first.has_value() && (!line.is_open || is_same)) return;
  if (line.is_open) group.open.erase({line.rank, &line});
  line.is_open = first.has_value();
  line.rank = rank;
  if (line.is_open) group.open.insert({line.rank, &line});
  settle(group);
}

void Lines::settle(LineGroup& group) {
  const bool is_open = !group.open.empty() && group.parked == 0;
  const LineRank rank = is_open ? group.open.begin()->first : LineRank{};
  if (group.is_open) open_.erase({group.rank, &group});
  group.is_open = is_open;
  group.rank = rank;
  if (is_open) open_.insert({rank, &group});
}

void Lines::settle(JobKey& key) {
  for (const auto& [group, line] : key.lines) settle(*line);
}

void Lines::collect(Line& line) {
  LineGroup& group = *line.group;
  JobKey& key = *line.key;
  // The line of the jobs that were not looked at stays.
  if (!line.jobs.empty() || (!has_keys_ && &group == &rest_)) return;
  CHECK(!line.is_open);
  key.lines.erase(&group);
  --group.line_count;
  collect(group);
  collect(key);
}

void Lines::collect(JobKey& key) {
  if (!key.lines.empty() || key.taken > 0) return;
  closed_.erase(&key);
  keys_.erase(keys_.find(key.text));
  --counts_.keys;
}

void Lines::collect(LineGroup& group) {
  if (group.line_count > 0 || group.type == nullptr) return;
  CHECK(!group.is_open);
  Throttle& type = *group.type;
  if (group.parked != 0) type.parked.erase(group.parked);
  types_.erase(&type);
  --type.groups;
  table_.collect(type);
}

// ---- the end ------------------------------------------------------------------------------------

void Lines::dismiss() {
  for (auto& [type, group] : types_) {
    Throttle& throttle = *group->type;
    if (group->parked != 0) throttle.parked.erase(group->parked);
    --throttle.groups;
    table_.collect(throttle);
  }
  types_.clear();
  open_.clear();
  closed_.clear();
}

bool Lines::clear_some() {
  // To free an entry is cheaper than to move a job.
  std::size_t left = 4 * kSliceJobs;
  const auto clear = [&left](auto& entries) {
    const auto size = static_cast<std::ptrdiff_t>(std::min(left, entries.size()));
    entries.erase(entries.begin(), std::next(entries.begin(), size));
    left -= static_cast<std::size_t>(size);
    return static_cast<std::size_t>(size);
  };
  clear(skipped_);
  while (left > 0 && !keys_.empty()) {
    JobKey& key = *keys_.begin()->second;
    for (const auto& [group, line] : key.lines) counts_.jobs -= clear(line->jobs);
    if (left == 0) break;
    keys_.erase(keys_.begin());
    --counts_.keys;
    --left;
  }
  return skipped_.empty() && keys_.empty();
}

}  // namespace millrace
