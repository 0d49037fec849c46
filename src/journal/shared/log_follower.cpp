#include "journal/shared/log_follower.hpp"

#include <utility>

#include "base/check.hpp"
#include "journal/file/log_format.hpp"

namespace millrace::journal {
namespace {

Problem strange_entry(Sequence sequence, const std::string& what) {
  return Problem{"entry " + std::to_string(sequence) + " of the log " + what};
}

/// Nothing is made of what is missing: only people know whether it can be brought back.
Problem set_back(Sequence last) {
  return Problem{
      "the log ends before message " + std::to_string(last) +
      ", up to which the directory has it: the log was lost, or an older one was "
      "brought back, or it is another one. Bring the newer log back; or stop all servers "
      "and move the jobs of this directory to a new log, by `millrace backup` and "
      "`millrace move-to-log`; or, to give up what is missing, empty all directories"};
}

}  // namespace

bool LogHistory::is_stray(const EntryHead& head) const {
  if (head.is_claim() || epoch_ == Epoch{}) return false;
  return Epoch{head.epoch} < epoch_ || head.sequence != end_ + 1;
}

std::optional<LogHistory::Misfit> LogHistory::note(const EntryHead& head) {
  if (log_ == 0) log_ = head.log;
  if (head.log != log_) return Misfit{.what = "belongs to another log"};
  const Epoch epoch{head.epoch};
  if (head.is_claim() ? epoch <= epoch_ : (epoch != epoch_ && epoch_ != Epoch{})) {
    return Misfit{.what = "is of a server that does not lead", .is_of_another_past = true};
  }
  if (!head.is_claim() && writer_ != 0 && head.writer != writer_) {
    return Misfit{.what = "is of another server than the one that leads",
                  .is_of_another_past = true};
  }
  epoch_ = epoch;
  writer_ = head.writer;
  if (head.is_claim()) note_takeover(head);
  latest_time_ = std::max(latest_time_, head.at);
  note_leader(head);
  return std::nullopt;
}

/// To be called before the head counts for `leader_` and `latest_time_`.
void LogHistory::note_takeover(const EntryHead& head) {
  Takeover takeover{.epoch = epoch_, .at = head.at, .from = {}, .to = head.node, .gap = {}};
  if (leader_) {
    takeover.from = leader_->node;
    takeover.was_handed_over = leader_->has_released;
    takeover.gap = std::max(head.at - latest_time_, Duration{});
  }
  if (takeovers_.size() == SharedJournal::kTakeoversMax) takeovers_.erase(takeovers_.begin());
  takeovers_.push_back(std::move(takeover));
}

void LogHistory::note_leader(const EntryHead& head) {
  if (!leader_ || leader_->epoch != epoch_) {
    leader_ = Leader{.epoch = epoch_, .node = {}, .notes = {}, .claimed_at = head.at};
  }
  if (!head.node.empty()) {
    leader_->node = head.node;
    leader_->notes = head.notes;
    leader_lease_ = std::chrono::milliseconds(head.lease_ms);
  }
  if (head.is_claim()) leader_->holds = head.kind == EntryHead::Kind::kHold;
  if (head.kind == EntryHead::Kind::kRelease) leader_->has_released = true;
}

void CatchUp::begin(Sequence end, Time asked_at) {
  end_ = end;
  asked_at_ = asked_at;
}

void CatchUp::look(Sequence seen, Time now) {
  if (is_over_) return;
  if (const auto end = pump_.take_end()) {
    end_ = *end;
    is_asking_ = false;
  }
  if (is_asking_ || seen < end_) return;
  is_over_ = now <= asked_at_ + kCaughtUpWithin;
  if (is_over_) return;
  asked_at_ = now;
  is_asking_ = true;
  pump_.ask_end();
}

// ---- the cache ----------------------------------------------------------------------------------

Outcome<Done> LogFollower::replay(const Visitor& visitor) {
  const Outcome<Done> replayed = parts_.cache.replay([&](std::string_view entry, Lsn begin) {
    if (Outcome<Done> taken = take_cached(entry, begin); !taken) return taken;
    return visitor(entry, begin);
  });
  if (!replayed) {
    is_cache_useless_ = true;
    return replayed.error();
  }
  return begin();
}

Outcome<Done> LogFollower::take_cached(std::string_view entry, Lsn begin) {
  auto head = take_head(entry);
  if (!head) return head.error();
  if (!*head) return Problem{"a batch that is not an entry of a shared log"};
  if (auto noted = note(**head); !noted) return noted;
  parts_.places.note(begin, (*head)->sequence);
  // It took more messages if it is long. How many is in the log, where it is read once more.
  last_ = (*head)->sequence;
  history_.note_end(last_);
  cached_ = std::move(**head);
  return Done{};
}

/// The last entry of the cache is read once more, from the log: so a cache of another log is
/// noticed.
Outcome<Done> LogFollower::begin() {
  const Time asked_at = parts_.options.now();
  const Outcome<LogService::Extent> extent = parts_.service.extent();
  if (!extent) return extent.error();
  if (extent->last < last_) {
    return set_back(last_);
  }
  former_end_ = extent->last;
  catch_up_.begin(extent->last, asked_at);
  had_cache_ = cached_.has_value();
  parts_.pump.start(cached_ ? cached_->sequence - 1 : 0);
  if (!cached_ && extent->begin > 1) parts_.pump.start(extent->begin - 1);
  return Done{};
}

Outcome<Done> LogFollower::verify_cache(const EntryHead& head) {
  const EntryHead cached = *std::exchange(cached_, std::nullopt);
  if (head == cached) return Done{};
  if (head.log == cached.log) {
    return other_history(head.sequence, "is not the one that the directory has");
  }
  return Problem{"the directory belongs to another log: its entry " +
                 std::to_string(cached.sequence) +
                 " is not the one in this log. Correct --log, or use an empty directory"};
}

// ---- what arrives -------------------------------------------------------------------------------

Outcome<SharedJournal::Followed> LogFollower::follow(const Visitor& visitor) {
  if (broken_) return report_broken();
  if (!started_at_) {
    started_at_ = parts_.options.now();
    lease_watch_.begin(*started_at_);
  }
  // It stays with the pump, which reads no more than it may keep.
  if (parts_.cache.pending_bytes() > LogPump::kBehindBytes) return Followed::kOn;
  const LogPump::Arrived arrived = parts_.pump.take_arrived();
  seen_ = arrived.seen;
  for (const LogService::Entry& entry : arrived.entries) {
    if (Outcome<Done> taken = take_entry(entry, visitor); !taken) {
      broken_ = taken.error();
      return *broken_;
    }
  }
  catch_up_.look(seen_, parts_.options.now());
  if (parts_.pump.mode() == LogPump::Mode::kTrimmed) {
    is_cache_useless_ = true;
    return Followed::kUseless;
  }
  if (parts_.pump.mode() == LogPump::Mode::kSetBack) {
    broken_ = set_back(last_);
    return *broken_;
  }
  if (cached_ && seen_ >= former_end_) {
    // The log has no more than the beginning of an entry that it once had whole.
    broken_ = set_back(former_end_ + 1);
    return *broken_;
  }
  return own_claim_ && seen_ == last_ ? Followed::kLeads : Followed::kOn;
}

Outcome<Done> LogFollower::take_entry(const LogService::Entry& entry, const Visitor& visitor) {
  std::string_view batch = entry.bytes;
  const auto head = take_head(batch);
  if (!head) return strange_entry(entry.first, "cannot be read: " + head.error().text);
  if (!*head) return strange_entry(entry.first, "was not written by Millrace");
  if ((*head)->sequence != entry.first) {
    return strange_entry(entry.first, "says that it is entry " + std::to_string((*head)->sequence) +
                                          ": the log has a gap, or was copied");
  }
  if (cached_) {
    last_ = entry.last;
    history_.note_end(last_);
    return verify_cache(**head);
  }
  if (entry.first <= last_) return strange_entry(entry.first, "came twice");
  if (entry.bytes.size() > kBatchBytesMax) return strange_entry(entry.first, "is too long");
  if (history_.is_stray(**head)) {
    last_ = entry.last;
    own_claim_.reset();
    return Done{};
  }
  if (auto noted = note(**head); !noted) return noted;
  lease_watch_.note(**head, parts_.options.now());
  if (is_of_namesake(**head)) {
    return Problem{"another server that is called " + parts_.options.node +
                   " leads the log: give each its own --node"};
  }
  last_ = entry.last;
  history_.note_end(last_);
  const auto span = parts_.cache.append(kOnlyEpoch, entry.bytes);
  CHECK(span.has_value());
  parts_.places.note(span->begin, entry.first);
  if (batch.empty()) return Done{};
  if (Outcome<Done> visited = visitor(entry.bytes, span->begin); !visited) {
    return strange_entry(entry.first, "cannot be applied: " + visited.error().text);
  }
  return Done{};
}

Outcome<Done> LogFollower::note(const EntryHead& head) {
  if (const auto misfit = history_.note(head)) {
    return misfit->is_of_another_past ? other_history(head.sequence, misfit->what)
                                      : strange_entry(head.sequence, misfit->what);
  }
  own_claim_.reset();
  if (head.is_claim() && head.writer == parts_.options.writer) own_claim_ = head;
  return Done{};
}

/// Whether another server has the same name. A former process of this one may have written what was
/// there at the start, and what arrived soon after that.
bool LogFollower::is_of_namesake(const EntryHead& head) const {
  if (head.node != parts_.options.node || head.writer == parts_.options.writer) return false;
  const Time former_until = *started_at_ + parts_.options.lease + kAnswerMax;
  return head.sequence > former_end_ && head.at > former_until &&
         lease_watch_.quiet_since() > former_until;
}

/// What the log has does not go on where this server is. Reading it anew does not help where all of
/// it was read from the log as that was at the start.
Problem LogFollower::other_history(Sequence sequence, const std::string& what) {
  has_other_history_ = had_cache_ || sequence > former_end_;
  return strange_entry(sequence, what + ": an older log was brought back, and went on");
}

/// The problem is told at least once.
Outcome<SharedJournal::Followed> LogFollower::report_broken() {
  if (!has_other_history_ || parts_.options.now() < *started_at_ + kReadAnewAfter) return *broken_;
  is_cache_useless_ = true;
  return Followed::kUseless;
}

// ---- taking the lead ----------------------------------------------------------------------------

bool LogFollower::may_claim() const {
  if (broken_ || !started_at_ || cached_ || parts_.pump.is_claiming()) return false;
  if (parts_.pump.mode() != LogPump::Mode::kFollowing || !parts_.pump.can_read()) return false;
  const ReplicatedJournalOptions& options = parts_.options;
  if (claimed_at_ && options.now() < *claimed_at_ + beat_interval(options.lease)) return false;
  const auto& leader = history_.leader();
  const bool has_no_leader = leader ? leader->has_released : seen_ == 0;
  if (has_no_leader) return true;
  if (leader && leader->holds && !options.holds) return false;
  return lease_watch_.is_over(std::max(options.lease, history_.leader_lease()), options.now());
}

void LogFollower::claim() {
  // The pump may have found a problem since somebody looked.
  if (!may_claim()) return;
  const ReplicatedJournalOptions& options = parts_.options;
  EntryHead head =
      options.new_head(options.holds ? EntryHead::Kind::kHold : EntryHead::Kind::kClaim);
  head.log = history_.log() == 0 ? options.log : history_.log();
  head.sequence = seen_ + 1;
  head.epoch = static_cast<std::uint64_t>(history_.epoch()) + 1;
  claimed_at_ = head.at;
  parts_.pump.claim(seen_, encode(head));
}

std::string LogFollower::problem() const {
  if (broken_) return broken_->text;
  std::string text = parts_.pump.problem();
  const auto& leader = history_.leader();
  const bool is_held = catch_up_.is_over() && leader && leader->holds && !leader->has_released &&
                       !parts_.options.holds;
  return text.empty() && is_held ? "the log is held, so no node may lead: " + leader->node : text;
}

bool LogFollower::hears_leader() const {
  return last_ > former_end_ && history_.leader() && !history_.leader()->has_released;
}

}  // namespace millrace::journal
