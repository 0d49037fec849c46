#include "journal/shared/log_leader.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace millrace::journal {
namespace {

/// A leader that appends all the time beats so often, to tell its name and its lease.
constexpr Duration kBeatAlways = std::chrono::seconds(10);

/// With so many entries unanswered, no further beat is sent.
constexpr std::size_t kBeatsMax = 64;

/// When stepped, a service that has not answered by then is taken for unreachable.
constexpr int kSyncRounds = 64;

}  // namespace

/// Others count the lease from when they saw the claim, which is later.
LogLeader::LogLeader(Parts parts, const EntryHead& claim, Sequence last)
    : parts_(parts),
      log_(claim.log),
      epoch_(Epoch{claim.epoch}),
      led_from_(parts.cache.extent().end),
      last_(last),
      last_append_at_(claim.at),
      last_beat_at_(claim.at),
      lease_from_(claim.at),
      stored_last_(last) {
  parts_.cache.release(led_from_);
  parts_.pump.lead(last_);
}

Epoch LogLeader::epoch() const {
  const bool leads = parts_.pump.mode() == LogPump::Mode::kLeading;
  return leads ? epoch_ : Epoch{static_cast<std::uint64_t>(epoch_) + 1};
}

Result<Journal::Span, Deposed> LogLeader::append(Epoch epoch, std::string_view batch) {
  CHECK(epoch == epoch_ && !has_released_);
  if (this->epoch() != epoch) return Deposed{.by = this->epoch()};
  return put(EntryHead::Kind::kBatch, batch);
}

Journal::Span LogLeader::put(EntryHead::Kind kind, std::string_view batch) {
  EntryHead head = parts_.options.new_head(kind);
  head.log = log_;
  head.sequence = last_ + 1;
  head.epoch = static_cast<std::uint64_t>(epoch_);
  std::string entry = encode(head);
  const std::size_t head_bytes = entry.size();
  entry.append(batch);
  const auto span = parts_.cache.append(kOnlyEpoch, entry);
  CHECK(span.has_value());
  parts_.places.note(span->begin, head.sequence);
  last_ += parts_.service.message_count(entry.size());
  last_append_at_ = head.at;
  sent_.push_back({.end = span->end, .last = last_, .at = head.at});
  parts_.pump.append({.first = head.sequence, .last = last_, .bytes = std::move(entry)}, span->end);
  return {.begin = span->begin + head_bytes, .end = span->end};
}

void LogLeader::note_stored() {
  const Lsn stored = parts_.pump.stored();
  if (sent_.empty() || sent_.front().end > stored) return;
  const Time now = parts_.options.now();
  while (!sent_.empty() && sent_.front().end <= stored) {
    lease_from_ = sent_.front().at;
    stored_last_ = sent_.front().last;
    last_append_ = now - lease_from_;
    appends_.add(last_append_);
    sent_.pop_front();
  }
  released_ = stored;
  parts_.cache.release(stored);
}

Lsn LogLeader::durable() {
  note_stored();
  return std::max(led_from_, parts_.pump.stored());
}

std::size_t LogLeader::in_flight() {
  if (parts_.options.is_stepped) return 0;
  note_stored();
  return sent_.size();
}

bool LogLeader::may_answer() {
  return parts_.options.now() < may_answer_until();
}

Time LogLeader::may_answer_until() {
  if (has_released_) return Time{};
  note_stored();
  return lease_from_ + parts_.options.lease;
}

/// The others begin to count when they see an entry, which is later.
Time LogLeader::lost_at() {
  note_stored();
  return lease_from_ + 2 * parts_.options.lease + lease_margin(parts_.options.lease);
}

void LogLeader::tell(SharedJournal::Figures& figures) {
  note_stored();
  figures.applied = stored_last_;
  figures.lease = parts_.options.lease;
  figures.lease_left =
      std::max(lease_from_ + parts_.options.lease - parts_.options.now(), Duration{});
  if (has_released_) figures.lease_left = Duration{};
  figures.in_flight = sent_.size();
  figures.appends = appends_;
  figures.last_append = last_append_;
  figures.refused = parts_.pump.refused();
  figures.unknown = parts_.pump.unknown();
}

Time LogLeader::next_beat() const {
  return std::min(last_append_at_ + beat_interval(parts_.options.lease),
                  last_beat_at_ + kBeatAlways);
}

void LogLeader::beat() {
  if (has_released_ || parts_.pump.mode() != LogPump::Mode::kLeading) return;
  // While the log cannot be reached, more of them would change nothing.
  if (sent_.size() >= kBeatsMax) {
    last_append_at_ = last_beat_at_ = parts_.options.now();
    return;
  }
  if (parts_.options.now() < next_beat()) return;
  put(EntryHead::Kind::kBeat, {});
  last_beat_at_ = last_append_at_;
}

void LogLeader::release() {
  CHECK(!has_released_);
  if (parts_.pump.mode() == LogPump::Mode::kLeading) put(EntryHead::Kind::kRelease, {});
  has_released_ = true;
}

void LogLeader::sync() {
  if (sent_.empty()) return;
  const Lsn end = sent_.back().end;
  LogPump& pump = parts_.pump;
  if (parts_.options.is_stepped) {
    for (int round = 0; round < kSyncRounds && pump.stored() < end && pump.step({}); ++round) {
    }
  } else {
    pump.wait_until_stored(end, kAnswerMax);
  }
  note_stored();
  parts_.cache.sync_until(std::max(led_from_, released_));
}

}  // namespace millrace::journal
