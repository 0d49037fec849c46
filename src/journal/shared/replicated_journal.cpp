#include "journal/shared/replicated_journal.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "journal/file/log_format.hpp"

namespace millrace::journal {
namespace {

/// A leader that appends all the time beats so often, to tell its name and its lease.
constexpr Duration kBeatAlways = std::chrono::seconds(10);

/// With so many entries unanswered, no further beat is sent.
constexpr std::size_t kBeatsMax = 64;

/// When stepped, a service that has not answered by then is taken for unreachable.
constexpr int kSyncRounds = 64;

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

Epoch after(Epoch epoch) {
  return Epoch{static_cast<std::uint64_t>(epoch) + 1};
}

}  // namespace

ReplicatedJournal::ReplicatedJournal(std::unique_ptr<FileJournal> cache,
                                     std::unique_ptr<LogService> service,
                                     ReplicatedJournalOptions options)
    : options_(std::move(options)),
      service_(std::move(service)),
      cache_(std::move(cache)),
      pump_(
          *service_, [this] { wake(); }, [this] { return cache_->durable(); }) {
  CHECK(options_.writer != 0 && options_.log != 0 && options_.now);
  CHECK(options_.node.size() <= kHeadTextBytesMax && options_.notes.size() <= kHeadTextBytesMax);
}

ReplicatedJournal::~ReplicatedJournal() {
  if (epoch_) sync();
  pump_.stop();
  if (thread_.joinable()) thread_.join();
  if (epoch_) note_stored();
}

void ReplicatedJournal::on_durable(std::function<void()> wake) {
  const std::lock_guard guard(wake_mutex_);
  wake_ = std::move(wake);
}

void ReplicatedJournal::wake() {
  const std::lock_guard guard(wake_mutex_);
  if (wake_) wake_();
}

// ---- reading ------------------------------------------------------------------------------------

Outcome<Done> ReplicatedJournal::replay(const Visitor& visitor) {
  const Outcome<Done> replayed = cache_->replay([&](std::string_view entry, Lsn begin) {
    if (Outcome<Done> taken = take_cached(entry, begin); !taken) return taken;
    return visitor(entry, begin);
  });
  if (!replayed) {
    is_cache_useless_ = true;
    return replayed.error();
  }
  return begin_to_follow();
}

Outcome<Done> ReplicatedJournal::take_cached(std::string_view entry, Lsn begin) {
  auto head = take_head(entry);
  if (!head) return head.error();
  if (!*head) return Problem{"a batch that is no entry of a shared log"};
  if (auto noted = note_head(**head); !noted) return noted;
  note_place(begin, (*head)->sequence);
  // It took more messages if it is long. How many is in the log, where it is read once more.
  last_ = counted_ = (*head)->sequence;
  cached_ = std::move(**head);
  return Done{};
}

/// The last entry of the cache is read once more, from the log: so a cache of another log is
/// noticed.
Outcome<Done> ReplicatedJournal::begin_to_follow() {
  const Time asked_at = options_.now();
  const Outcome<LogService::Extent> extent = service_->extent();
  if (!extent) return extent.error();
  if (extent->last < last_) {
    return set_back(last_);
  }
  former_end_ = extent->last;
  catch_up_.begin(extent->last, asked_at);
  had_cache_ = cached_.has_value();
  pump_.start(cached_ ? cached_->sequence - 1 : 0);
  if (!cached_ && extent->begin > 1) pump_.start(extent->begin - 1);
  if (!options_.is_stepped) thread_ = std::thread([this] { pump_.run(); });
  return Done{};
}

Outcome<SharedJournal::Followed> ReplicatedJournal::follow(const Visitor& visitor) {
  CHECK(!epoch_);
  if (broken_) return tell_broken();
  if (!started_at_) started_at_ = quiet_since_ = sent_until_ = options_.now();
  // It stays with the pump, which reads no more than it may keep.
  if (cache_->pending_bytes() > LogPump::kBehindBytes) return Followed::kOn;
  const LogPump::Arrived arrived = pump_.take_arrived();
  seen_ = arrived.seen;
  for (const LogService::Entry& entry : arrived.entries) {
    if (Outcome<Done> taken = take_entry(entry, visitor); !taken) {
      broken_ = taken.error();
      return *broken_;
    }
  }
  catch_up_.look(seen_, options_.now());
  if (pump_.mode() == LogPump::Mode::kTrimmed) {
    is_cache_useless_ = true;
    return Followed::kUseless;
  }
  if (pump_.mode() == LogPump::Mode::kSetBack) {
    broken_ = set_back(last_);
    return *broken_;
  }
  if (cached_ && seen_ >= former_end_) {
    // The log has no more than the beginning of an entry that it once had whole.
    broken_ = set_back(former_end_ + 1);
    return *broken_;
  }
  if (!own_claim_ || seen_ != last_) return Followed::kOn;
  begin_to_lead();
  return Followed::kLeads;
}

Outcome<Done> ReplicatedJournal::take_entry(const LogService::Entry& entry,
                                            const Visitor& visitor) {
  std::string_view batch = entry.bytes;
  const auto head = take_head(batch);
  if (!head) return strange_entry(entry.first, "cannot be read: " + head.error().text);
  if (!*head) return strange_entry(entry.first, "was not written by Millrace");
  if ((*head)->sequence != entry.first) {
    return strange_entry(entry.first, "says that it is entry " + std::to_string((*head)->sequence) +
                                          ": the log has a gap, or was copied");
  }
  if (cached_) {
    last_ = counted_ = entry.last;
    return verify_cache(**head);
  }
  if (entry.first <= last_) return strange_entry(entry.first, "came twice");
  if (entry.bytes.size() > kBatchBytesMax) return strange_entry(entry.first, "is too long");
  if (is_stray(**head)) {
    last_ = entry.last;
    own_claim_.reset();
    return Done{};
  }
  if (auto noted = note_head(**head); !noted) return noted;
  quiet_since_ = options_.now();
  note_sent(**head);
  if (is_of_namesake(**head)) {
    return Problem{"another server that is called " + options_.node +
                   " leads the log: give each its own --node"};
  }
  last_ = counted_ = entry.last;
  const auto span = cache_->append(kOnlyEpoch, entry.bytes);
  CHECK(span.has_value());
  note_place(span->begin, entry.first);
  if (batch.empty()) return Done{};
  if (Outcome<Done> visited = visitor(entry.bytes, span->begin); !visited) {
    return strange_entry(entry.first, "cannot be applied: " + visited.error().text);
  }
  return Done{};
}

/// Whether another server has the same name. A former process of this one may have written what was
/// there at the start, and what arrived soon after that.
bool ReplicatedJournal::is_of_namesake(const EntryHead& head) const {
  if (head.node != options_.node || head.writer == options_.writer) return false;
  const Time former_until = *started_at_ + options_.lease + kAnswerMax;
  return head.sequence > former_end_ && head.at > former_until && quiet_since_ > former_until;
}

/// Whether it does not count. A leader sends an entry behind others that are not answered yet. When
/// those are refused, since another server's entry has taken their place, and that ends just where
/// they would have ended, the service stores this one all the same. Its writer does not take it for
/// stored, and nobody else may: it is of a former leader, or not right behind what its writer
/// appended before. A claim is never sent behind anything.
bool ReplicatedJournal::is_stray(const EntryHead& head) const {
  if (head.is_claim() || newest_ == Epoch{}) return false;
  return Epoch{head.epoch} < newest_ || head.sequence != counted_ + 1;
}

Outcome<Done> ReplicatedJournal::verify_cache(const EntryHead& head) {
  const EntryHead cached = *std::exchange(cached_, std::nullopt);
  if (head == cached) return Done{};
  if (head.log == cached.log) {
    return other_history(head.sequence, "is not the one that the directory has");
  }
  return Problem{"the directory belongs to another log: its entry " +
                 std::to_string(cached.sequence) +
                 " is not the one in this log. Correct --log, or use an empty directory"};
}

/// What a head says about the leadership.
Outcome<Done> ReplicatedJournal::note_head(const EntryHead& head) {
  if (log_ == 0) log_ = head.log;
  if (head.log != log_) return strange_entry(head.sequence, "belongs to another log");
  const Epoch epoch{head.epoch};
  if (head.is_claim() ? epoch <= newest_ : (epoch != newest_ && newest_ != Epoch{})) {
    return other_history(head.sequence, "is of a server that does not lead");
  }
  if (!head.is_claim() && writer_ != 0 && head.writer != writer_) {
    return other_history(head.sequence, "is of another server than the one that leads");
  }
  newest_ = epoch;
  writer_ = head.writer;
  if (head.is_claim()) note_takeover(head);
  latest_time_ = std::max(latest_time_, head.at);
  own_claim_.reset();
  if (head.is_claim() && head.writer == options_.writer) own_claim_ = head;
  note_leader(head);
  return Done{};
}

/// What the log has does not go on where this server is. Reading it anew does not help where all of
/// it was read from the log as that was at the start.
Problem ReplicatedJournal::other_history(Sequence sequence, const std::string& what) {
  has_other_history_ = had_cache_ || sequence > former_end_;
  return strange_entry(sequence, what + ": an older log was brought back, and went on");
}

/// The problem is told at least once.
Outcome<SharedJournal::Followed> ReplicatedJournal::tell_broken() {
  if (!has_other_history_ || options_.now() < *started_at_ + kReadAnewAfter) return *broken_;
  is_cache_useless_ = true;
  return Followed::kUseless;
}

/// To be called before the head counts for `leader_` and `latest_time_`.
void ReplicatedJournal::note_takeover(const EntryHead& head) {
  Takeover takeover{.epoch = newest_, .at = head.at, .from = {}, .to = head.node, .gap = {}};
  if (leader_) {
    takeover.from = leader_->node;
    takeover.was_handed_over = leader_->has_released;
    takeover.gap = std::max(head.at - latest_time_, Duration{});
  }
  if (takeovers_.size() == kTakeoversMax) takeovers_.erase(takeovers_.begin());
  takeovers_.push_back(std::move(takeover));
}

void ReplicatedJournal::note_leader(const EntryHead& head) {
  if (!leader_ || leader_->epoch != newest_) {
    leader_ = Leader{.epoch = newest_, .node = {}, .notes = {}, .claimed_at = head.at};
  }
  if (!head.node.empty()) {
    leader_->node = head.node;
    leader_->notes = head.notes;
    leader_lease_ = std::chrono::milliseconds(head.lease_ms);
  }
  if (head.is_claim()) leader_->holds = head.kind == EntryHead::Kind::kHold;
  if (head.kind == EntryHead::Kind::kRelease) leader_->has_released = true;
}

/// After an outage of the service, the last entries of a leader may arrive long after they were
/// sent. Its clock tells how long after the entry before, and the margin of a lease allows for a
/// clock that does not run like ours.
void ReplicatedJournal::note_sent(const EntryHead& head) {
  Time until = options_.now();
  if (!head.is_claim() && sent_at_) {
    const Duration since = std::max(Duration{}, head.at - *sent_at_);
    until = std::min(until, sent_until_ + since + lease_margin(since));
  }
  sent_until_ = until;
  sent_at_ = head.at;
}

void ReplicatedJournal::note_place(Lsn begin, Sequence first) {
  if (places_.empty() || begin >= places_.back().begin + options_.place_bytes) {
    places_.push_back({.begin = begin, .first = first});
  }
}

// ---- taking the lead ----------------------------------------------------------------------------

bool ReplicatedJournal::may_claim() const {
  if (broken_ || !started_at_ || cached_ || epoch_ || pump_.is_claiming()) return false;
  if (pump_.mode() != LogPump::Mode::kFollowing || !pump_.can_read()) return false;
  if (claimed_at_ && options_.now() < *claimed_at_ + beat_interval(options_.lease)) return false;
  const bool has_no_leader = leader_ ? leader_->has_released : seen_ == 0;
  if (has_no_leader) return true;
  if (leader_ && leader_->holds && !options_.holds) return false;
  const Duration lease = std::max(options_.lease, leader_lease_);
  const Time lease_end = sent_until_ + lease + lease_margin(lease);
  // After an outage of the service a leader that is well can append again first.
  return options_.now() >= std::max(lease_end, quiet_since_ + beat_interval(lease));
}

std::string ReplicatedJournal::problem() const {
  if (broken_) return broken_->text;
  std::string text = pump_.problem();
  const bool is_held =
      catch_up_.is_over() && leader_ && leader_->holds && !leader_->has_released && !options_.holds;
  return text.empty() && is_held ? "the log is held, so no node may lead: " + leader_->node : text;
}

bool ReplicatedJournal::hears_leader() const {
  return last_ > former_end_ && leader_ && !leader_->has_released;
}

void ReplicatedJournal::claim() {
  // The pump may have found a problem since somebody looked.
  if (!may_claim()) return;
  EntryHead head = next_head(options_.holds ? EntryHead::Kind::kHold : EntryHead::Kind::kClaim);
  head.sequence = seen_ + 1;
  head.epoch = static_cast<std::uint64_t>(after(newest_));
  claimed_at_ = head.at;
  pump_.claim(seen_, encode(head));
}

void ReplicatedJournal::begin_to_lead() {
  epoch_ = newest_;
  // Others count from when they saw it, which is later.
  lease_from_ = last_append_at_ = last_beat_at_ = own_claim_->at;
  stored_last_ = last_;
  led_from_ = cache_->extent().end;
  cache_->release(led_from_);
  pump_.lead(last_);
}

Epoch ReplicatedJournal::epoch() const {
  if (!epoch_) return newest_;
  return pump_.mode() == LogPump::Mode::kLeading ? *epoch_ : after(*epoch_);
}

// ---- leading ------------------------------------------------------------------------------------

EntryHead ReplicatedJournal::next_head(EntryHead::Kind kind) const {
  EntryHead head{.kind = kind,
                 .log = log_ == 0 ? options_.log : log_,
                 .sequence = last_ + 1,
                 .epoch = static_cast<std::uint64_t>(newest_),
                 .at = options_.now(),
                 .writer = options_.writer,
                 .node = {},
                 .notes = {}};
  if (kind == EntryHead::Kind::kBatch) return head;
  head.node = options_.node;
  head.notes = options_.notes;
  head.lease_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(options_.lease).count());
  return head;
}

Result<Journal::Span, Deposed> ReplicatedJournal::append(Epoch epoch, std::string batch) {
  CHECK(epoch_ && epoch == *epoch_ && !has_released_);
  if (this->epoch() != epoch) return Deposed{.by = this->epoch()};
  return put(EntryHead::Kind::kBatch, batch);
}

Journal::Span ReplicatedJournal::put(EntryHead::Kind kind, std::string_view batch) {
  const EntryHead head = next_head(kind);
  std::string entry = encode(head);
  const std::size_t head_bytes = entry.size();
  entry.append(batch);
  const auto span = cache_->append(kOnlyEpoch, entry);
  CHECK(span.has_value());
  note_place(span->begin, head.sequence);
  last_ += service_->message_count(entry.size());
  last_append_at_ = head.at;
  sent_.push_back({.end = span->end, .last = last_, .at = head.at});
  pump_.append({.first = head.sequence, .last = last_, .bytes = std::move(entry)}, span->end);
  return {.begin = span->begin + head_bytes, .end = span->end};
}

/// Looks at what the service has stored since: that may be written to the cache, and it is what the
/// lease counts from.
void ReplicatedJournal::note_stored() const {
  const Lsn stored = pump_.stored();
  if (sent_.empty() || sent_.front().end > stored) return;
  const Time now = options_.now();
  while (!sent_.empty() && sent_.front().end <= stored) {
    lease_from_ = sent_.front().at;
    stored_last_ = sent_.front().last;
    last_append_ = now - lease_from_;
    appends_.add(last_append_);
    sent_.pop_front();
  }
  released_ = stored;
  cache_->release(stored);
}

Lsn ReplicatedJournal::durable() const {
  if (!epoch_) return cache_->extent().end;
  note_stored();
  return std::max(led_from_, pump_.stored());
}

std::size_t ReplicatedJournal::in_flight() const {
  if (!epoch_ || options_.is_stepped) return 0;
  note_stored();
  return sent_.size();
}

bool ReplicatedJournal::may_answer() const {
  if (!epoch_ || has_released_) return false;
  note_stored();
  return options_.now() < lease_from_ + options_.lease;
}

/// The others begin to count when they see an entry, which is later.
Time ReplicatedJournal::lost_at() const {
  note_stored();
  return lease_from_ + 2 * options_.lease + lease_margin(options_.lease);
}

SharedJournal::Figures ReplicatedJournal::figures() const {
  const Extent cached = cache_->extent();
  Figures figures{
      .applied = last_, .lease = leader_lease_, .cache_bytes = cached.end - cached.begin};
  if (!epoch_) return figures;
  note_stored();
  figures.applied = stored_last_;
  figures.lease = options_.lease;
  figures.lease_left = std::max(lease_from_ + options_.lease - options_.now(), Duration{});
  if (has_released_) figures.lease_left = Duration{};
  figures.in_flight = sent_.size();
  figures.appends = appends_;
  figures.last_append = last_append_;
  figures.refused = pump_.refused();
  figures.unknown = pump_.unknown();
  return figures;
}

Time ReplicatedJournal::next_beat() const {
  return std::min(last_append_at_ + beat_interval(options_.lease), last_beat_at_ + kBeatAlways);
}

void ReplicatedJournal::beat() {
  CHECK(epoch_);
  if (has_released_ || pump_.mode() != LogPump::Mode::kLeading) return;
  // While the log cannot be reached, more of them would change nothing.
  if (sent_.size() >= kBeatsMax) {
    last_append_at_ = last_beat_at_ = options_.now();
    return;
  }
  if (options_.now() < next_beat()) return;
  put(EntryHead::Kind::kBeat, {});
  last_beat_at_ = last_append_at_;
}

void ReplicatedJournal::release() {
  CHECK(epoch_ && !has_released_);
  if (pump_.mode() == LogPump::Mode::kLeading) put(EntryHead::Kind::kRelease, {});
  has_released_ = true;
}

Outcome<std::string> ReplicatedJournal::read(Lsn begin, std::size_t size) {
  return cache_->read(begin, size);
}

Journal::Extent ReplicatedJournal::extent() const {
  Extent extent = cache_->extent();
  if (cache_->durable() <= extent.oldest_end) extent.oldest_end = extent.begin;
  return extent;
}

std::size_t ReplicatedJournal::trim(Lsn before) {
  // The cache is written after the service has stored a batch. Where all that is written ends with
  // a segment, the writer has that still open.
  const Lsn written = cache_->durable();
  const std::size_t removed = cache_->trim(std::min(before, written - std::min<Lsn>(written, 1)));
  const Lsn oldest = cache_->extent().begin;
  while (places_.size() > 1 && places_[1].begin <= oldest) places_.pop_front();
  if (removed > 0 && epoch_ && places_.front().begin <= oldest) pump_.trim(places_.front().first);
  return removed;
}

void ReplicatedJournal::sync() {
  CHECK(epoch_);
  if (sent_.empty()) return;
  const Lsn end = sent_.back().end;
  if (options_.is_stepped) {
    for (int round = 0; round < kSyncRounds && pump_.stored() < end && pump_.step({}); ++round) {
    }
  } else {
    pump_.wait_until_stored(end, kAnswerMax);
  }
  note_stored();
  cache_->sync_until(std::max(led_from_, released_));
}

}  // namespace millrace::journal
