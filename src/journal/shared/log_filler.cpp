#include "journal/shared/log_filler.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace millrace::journal {
namespace {

constexpr std::size_t kReadBytes = std::size_t{4} << 20;
constexpr std::size_t kInFlightBytes = std::size_t{8} << 20;
constexpr LogService::Duration kReadWait = std::chrono::milliseconds(200);
constexpr LogService::Duration kStepWait = std::chrono::milliseconds(200);

Problem has_other_jobs() {
  return Problem{"the log is in use: name a new one in the URL"};
}

Problem has_something_new() {
  Problem problem{"something else was stored in the log meanwhile: run the same command again"};
  problem.is_passing = true;
  return problem;
}

Problem was_set_back() {
  return Problem{"the log ends before what it had stored: an older one was brought back"};
}

}  // namespace

Outcome<Done> LogFiller::begin() {
  CHECK(!options_.name.empty() && options_.name.size() <= kHeadTextBytesMax);
  const auto extent = service_.extent();
  if (!extent) return extent.error();
  if (extent->last > 0 && extent->begin > 1) return has_other_jobs();
  present_last_ = extent->last;
  return put(EntryHead::Kind::kHold, {});
}

Outcome<Done> LogFiller::add(std::string_view batch) {
  const auto head = take_head(batch);
  if (!head) return head.error();
  if (batch.empty()) return Done{};
  ++batches_;
  if (!joined_.empty() && joined_.size() + batch.size() > options_.joined_bytes) {
    if (auto put = put_joined(); !put) return put;
  }
  joined_ += batch;
  return Done{};
}

Outcome<Done> LogFiller::put_joined() {
  if (joined_.empty()) return Done{};
  return put(EntryHead::Kind::kBatch, std::exchange(joined_, {}));
}

Outcome<Done> LogFiller::settle() {
  if (auto put = put_joined(); !put) return put;
  return wait_until_stored(appended_end_);
}

Outcome<Done> LogFiller::release() {
  if (auto put_last = put(EntryHead::Kind::kRelease, {}); !put_last) return put_last;
  return settle();
}

Outcome<Done> LogFiller::put(EntryHead::Kind kind, std::string_view batch) {
  const auto present = next_present();
  if (!present) return present.error();
  if (*present) return compare(**present, kind, batch);
  if (last_ < read_to_) {
    // The log ends with the beginning of an entry, which will never be whole. Only a claim may
    // follow it.
    last_ = read_to_;
    if (kind != EntryHead::Kind::kHold) {
      ++epoch_;
      if (auto held = append(EntryHead::Kind::kHold, {}); !held) return held;
    }
  }
  return append(kind, batch);
}

Outcome<Done> LogFiller::append(EntryHead::Kind kind, std::string_view batch) {
  if (!std::exchange(has_appended_, true)) {
    pump_.start(last_);
    pump_.lead(last_);
  }
  EntryHead head{.kind = kind,
                 .log = options_.log,
                 .sequence = last_ + 1,
                 .epoch = epoch_,
                 .at = options_.now(),
                 .writer = options_.writer,
                 .node = {},
                 .notes = {}};
  if (kind != EntryHead::Kind::kBatch) head.node = options_.name;
  std::string entry = encode(head).append(batch);
  const Sequence first = last_ + 1;
  last_ += service_.message_count(entry.size());
  appended_end_ += entry.size();
  pump_.append({.first = first, .last = last_, .bytes = std::move(entry)}, appended_end_);
  return wait_until_stored(appended_end_ - std::min<Lsn>(appended_end_, kInFlightBytes));
}

/// The next entry that the log had when this began; nullopt: all were compared.
Outcome<std::optional<LogService::Entry>> LogFiller::next_present() {
  while (present_.empty() && read_to_ < present_last_) {
    auto chunk = service_.follow(read_to_, kReadBytes, kReadWait);
    if (!chunk) return chunk.error();
    if (chunk->is_trimmed) return has_other_jobs();
    read_to_ = chunk->seen;
    for (auto& entry : chunk->entries) present_.push_back(std::move(entry));
  }
  if (present_.empty()) return std::optional<LogService::Entry>();
  std::optional<LogService::Entry> first(std::move(present_.front()));
  present_.pop_front();
  return first;
}

Outcome<Done> LogFiller::compare(const LogService::Entry& entry, EntryHead::Kind kind,
                                 std::string_view batch) {
  std::string_view rest = entry.bytes;
  const auto head = take_head(rest);
  if (!head || !*head || (*head)->sequence != entry.first) return has_other_jobs();
  if (kind != EntryHead::Kind::kHold && is_next_hold(**head)) {
    epoch_ = (*head)->epoch;
    last_ = entry.last;
    return put(kind, batch);
  }
  if ((*head)->kind != kind || (*head)->epoch != epoch_ || rest != batch) return has_other_jobs();
  if (kind != EntryHead::Kind::kBatch && (*head)->node != options_.name) return has_other_jobs();
  options_.log = (*head)->log;
  options_.writer = (*head)->writer;
  last_ = entry.last;
  return Done{};
}

/// After the beginning of an entry that an earlier filler did not end.
bool LogFiller::is_next_hold(const EntryHead& head) const {
  return head.kind == EntryHead::Kind::kHold && head.node == options_.name &&
         head.epoch == epoch_ + 1;
}

Outcome<Done> LogFiller::wait_until_stored(Lsn end) {
  Lsn stored = pump_.stored();
  Time stored_at = options_.now();
  // Once in any case: so what was appended is sent.
  do {
    if (has_appended_) pump_.step(stored < end ? kStepWait : LogService::Duration{});
    if (pump_.mode() == LogPump::Mode::kDeposed) return has_something_new();
    if (pump_.mode() == LogPump::Mode::kSetBack) return was_set_back();
    if (std::exchange(stored, pump_.stored()) != pump_.stored()) stored_at = options_.now();
    if (stored < end && options_.now() > stored_at + options_.patience) return no_answer();
  } while (stored < end);
  return Done{};
}

Problem LogFiller::no_answer() const {
  const std::string why = pump_.problem();
  return Problem{"the log does not answer" + (why.empty() ? "" : ": " + why) +
                 "; run the same command again, and it goes on"};
}

}  // namespace millrace::journal
