#include "journal/shared/log_pump.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.hpp"

namespace millrace::journal {
namespace {

using namespace std::chrono_literals;

/// A chunk that is read at once.
constexpr std::size_t kFollowedBytes = std::size_t{4} << 20;

/// An engine that has a problem is asked again after this.
constexpr LogService::Duration kRetry = 100ms;

/// What an engine refuses again and again, since it is full, is sent to it so seldom.
constexpr LogService::Duration kSendAgain = 250ms;

/// What must wait for the disk looks so often whether it has caught up.
constexpr LogService::Duration kLookAtDisk = 10ms;

/// A round of `run` waits so long at most; `wake` ends it.
constexpr LogService::Duration kRound = 250ms;

}  // namespace

// ---- for the server's thread --------------------------------------------------------------------

void LogPump::start(Sequence after) {
  const std::lock_guard guard(mutex_);
  seen_ = after;
}

LogPump::Arrived LogPump::take_arrived() {
  const std::lock_guard guard(mutex_);
  arrived_bytes_ = 0;
  work_.notify_one();
  return {.entries = std::exchange(arrived_, {}), .seen = seen_};
}

void LogPump::ask_end() {
  {
    const std::lock_guard guard(mutex_);
    end_.reset();
    is_asked_for_end_ = true;
  }
  service_.wake();
}

std::optional<Sequence> LogPump::take_end() {
  const std::lock_guard guard(mutex_);
  return std::exchange(end_, std::nullopt);
}

void LogPump::claim(Sequence seen, std::string claim) {
  {
    const std::lock_guard guard(mutex_);
    CHECK(!is_claiming_);
    if (seen != seen_) return;
    const Sequence last = seen + service_.message_count(claim.size());
    claim_ = {.first = seen + 1, .last = last, .bytes = std::move(claim)};
    is_claiming_ = true;
  }
  service_.wake();
}

bool LogPump::is_claiming() const {
  const std::lock_guard guard(mutex_);
  return is_claiming_;
}

void LogPump::lead(Sequence last) {
  {
    const std::lock_guard guard(mutex_);
    // The log may have been trimmed away in the meantime: then this server starts over.
    if (mode() != Mode::kFollowing) return;
    CHECK(outgoing_.empty() && last <= seen_);
    mode_ = Mode::kLeading;
    // An earlier claim has got through after all, so a later one is not needed.
    if (claim_.has_value()) is_claiming_ = false;
    claim_.reset();
    // What came after the claim would be an entry of another leader: the first append finds it.
    seen_ = last;
  }
  service_.wake();
}

void LogPump::append(LogService::Entry entry, Lsn end) {
  {
    const std::lock_guard guard(mutex_);
    outgoing_.push_back({.entry = std::move(entry), .end = end});
  }
  work_.notify_one();
  service_.wake();
}

void LogPump::wait_until_stored(Lsn end, LogService::Duration longest) {
  std::unique_lock guard(mutex_);
  has_stored_.wait_for(guard, longest, [&] { return stored() >= end || mode() != Mode::kLeading; });
}

void LogPump::trim(Sequence before) {
  const std::lock_guard guard(mutex_);
  trim_ = before;
}

std::string LogPump::problem() const {
  const std::lock_guard guard(mutex_);
  return problem_.empty() ? refusal_ : problem_;
}

bool LogPump::can_read() const {
  const std::lock_guard guard(mutex_);
  return problem_.empty();
}

void LogPump::stop() {
  {
    const std::lock_guard guard(mutex_);
    is_stopping_ = true;
  }
  work_.notify_one();
  service_.wake();
}

// ---- the pump's thread --------------------------------------------------------------------------

void LogPump::run() {
  for (;;) {
    {
      const std::lock_guard guard(mutex_);
      if (is_stopping_) return;
    }
    if (!step(kRound)) wait_for_work(kRound);
  }
}

bool LogPump::step(LogService::Duration longest) {
  switch (mode()) {
    case Mode::kFollowing:
      send_claim();
      if (claim_in_flight_) {
        hear_of_claim(longest);
      } else {
        look_at_end();
        follow(longest);
      }
      return true;
    case Mode::kLeading:
      // One that was sent before an earlier one was found in the log. It is refused.
      if (claim_in_flight_) {
        hear_of_claim(longest);
        return true;
      }
      if (is_in_doubt_ && unanswered_ == 0) {
        settle_doubt(longest);
        return true;
      }
      if (!is_in_doubt_) {
        send();
        send_trim();
      }
      hear(waits_for_disk_ ? std::min(longest, kLookAtDisk) : longest);
      return true;
    case Mode::kDeposed:
    case Mode::kTrimmed:
    case Mode::kSetBack:
      return false;
  }
  return false;
}

void LogPump::wait_for_work(LogService::Duration longest) {
  std::unique_lock guard(mutex_);
  work_.wait_for(guard, longest, [this] { return is_stopping_; });
}

void LogPump::enter(Mode mode) {
  {
    const std::lock_guard guard(mutex_);
    mode_ = mode;
  }
  has_stored_.notify_all();
  wake_();
}

void LogPump::note_problem(const std::string& text) {
  note_text(problem_, text);
}

/// A conflict needs no reason: the log tells what is there instead.
void LogPump::note_refusal(const LogService::Answer& answer) {
  if (answer.refusal && !answer.problem.empty()) note_text(refusal_, answer.problem);
}

void LogPump::end_refusals() {
  has_sent_again_ = false;
  note_text(refusal_, {});
}

void LogPump::note_text(std::string& kept, const std::string& text) {
  {
    const std::lock_guard guard(mutex_);
    if (kept == text) return;
    kept = text;
  }
  wake_();
}

// ---- following ----------------------------------------------------------------------------------

void LogPump::follow(LogService::Duration longest) {
  Sequence after = 0;
  {
    std::unique_lock guard(mutex_);
    const auto has_room = [this] { return arrived_bytes_ < kAheadBytes || is_stopping_; };
    if (!work_.wait_for(guard, longest, has_room)) return;
    after = seen_;
  }
  Outcome<LogService::Chunk> chunk = service_.follow(after, kFollowedBytes, longest);
  if (!chunk) {
    note_problem(chunk.error().text);
    return wait_for_work(std::min(longest, kRetry));
  }
  note_problem({});
  if (chunk->is_trimmed) return enter(Mode::kTrimmed);
  const bool has_news = chunk->seen != after;
  {
    const std::lock_guard guard(mutex_);
    // A claim that was refused is over when the log was read once more.
    if (!claim_) is_claiming_ = false;
    if (!has_news) return;
    // The server may have begun to lead meanwhile.
    if (mode() != Mode::kFollowing) return;
    for (LogService::Entry& entry : chunk->entries) {
      arrived_bytes_ += entry.bytes.size();
      arrived_.push_back(std::move(entry));
    }
    seen_ = chunk->seen;
  }
  end_refusals();
  wake_();
}

/// Where the service does not say it, it is asked in the next round.
void LogPump::look_at_end() {
  {
    const std::lock_guard guard(mutex_);
    if (!is_asked_for_end_) return;
  }
  const Outcome<LogService::Extent> extent = service_.extent();
  if (!extent) return;
  {
    const std::lock_guard guard(mutex_);
    is_asked_for_end_ = false;
    end_ = extent->last;
  }
  wake_();
}

/// The server asks the pump all the time, and does not wait until the network takes a claim.
void LogPump::send_claim() {
  {
    const std::lock_guard guard(mutex_);
    if (!claim_) return;
    claim_in_flight_ = std::exchange(claim_, std::nullopt);
  }
  service_.append(*claim_in_flight_);
}

/// Whatever becomes of it, following shows it in the end. When it was stored there is no need to
/// wait for that. Where it was refused there is: a server that claimed again at the same place
/// would be refused again, and never get to follow.
void LogPump::hear_of_claim(LogService::Duration longest) {
  const std::vector<LogService::Answer> answers = service_.answers(longest);
  if (answers.empty()) return;
  note_refusal(answers.front());
  if (!answers.front().refusal) end_refusals();
  if (answers.front().refusal == LogService::Refusal::kConflict && is_set_back()) {
    return enter(Mode::kSetBack);
  }
  {
    const std::lock_guard guard(mutex_);
    if (!answers.front().refusal && seen_ + 1 == claim_in_flight_->first) {
      seen_ = claim_in_flight_->last;
      arrived_.push_back(std::move(*claim_in_flight_));
      is_claiming_ = false;
    }
    claim_in_flight_.reset();
  }
  wake_();
}

/// A claim is refused where the log goes on beyond what it expects, or ends before it.
bool LogPump::is_set_back() {
  const Outcome<LogService::Extent> extent = service_.extent();
  const std::lock_guard guard(mutex_);
  return extent && extent->last < seen_;
}

// ---- leading ------------------------------------------------------------------------------------

/// Hands on what there is, as far as it may be in flight.
void LogPump::send() {
  for (;;) {
    Outgoing next;
    {
      const std::lock_guard guard(mutex_);
      if (stored_last_ == 0) stored_last_ = seen_;
      waits_for_disk_ = !outgoing_.empty() && must_wait_for_disk(outgoing_.front().end);
      if (outgoing_.empty() || in_flight_bytes_ >= kInFlightBytes || waits_for_disk_) return;
      next = std::move(outgoing_.front());
      outgoing_.pop_front();
    }
    const Sequence before = in_flight_.empty() ? stored_last_ : in_flight_.back().entry.last;
    CHECK(next.entry.first == before + 1);
    service_.append(next.entry);
    ++unanswered_;
    in_flight_bytes_ += next.entry.bytes.size();
    in_flight_.push_back(std::move(next));
  }
}

/// Never when all that was sent is written: an entry may be longer than the limit.
bool LogPump::must_wait_for_disk(Lsn end) const {
  if (!written_) return false;
  const Lsn written = written_();
  const Lsn sent = in_flight_.empty() ? stored() : in_flight_.back().end;
  return written < sent && end > written + kBehindBytes;
}

void LogPump::hear(LogService::Duration longest) {
  bool has_stored = false;
  for (const LogService::Answer& answer : service_.answers(longest)) {
    CHECK(unanswered_ > 0);
    --unanswered_;
    if (answer.refusal) {
      note_refusal(answer);
      ++(*answer.refusal == LogService::Refusal::kConflict ? refused_ : unknown_);
      is_in_doubt_ = true;
      // Its numbers are in the entries behind it. A server that reads the log anew numbers anew.
      if (*answer.refusal == LogService::Refusal::kTooLong) return enter(Mode::kDeposed);
      continue;
    }
    // After a refusal none is stored, unless the engine is wrong about its order.
    if (is_in_doubt_ || in_flight_.empty() || in_flight_.front().entry.last != answer.last) {
      is_in_doubt_ = true;
      continue;
    }
    note_stored(in_flight_.front());
    in_flight_.pop_front();
    has_stored = true;
  }
  if (!has_stored) return;
  note_problem({});
  end_refusals();
  wake_();
}

void LogPump::note_stored(const Outgoing& outgoing) {
  stored_last_ = outgoing.entry.last;
  in_flight_bytes_ -= outgoing.entry.bytes.size();
  {
    const std::lock_guard guard(mutex_);
    stored_ = outgoing.end;
  }
  has_stored_.notify_all();
}

/// Reads what the log has after the last entry that is known to be stored.
void LogPump::settle_doubt(LogService::Duration longest) {
  const Outcome<LogService::Extent> extent = service_.extent();
  if (!extent) {
    note_problem(extent.error().text);
    return wait_for_work(std::min(longest, kRetry));
  }
  if (extent->last < stored_last_) return enter(Mode::kSetBack);
  note_problem({});
  bool has_stored = false;
  Sequence seen = stored_last_;
  while (seen < extent->last) {
    const Outcome<LogService::Chunk> chunk = service_.follow(seen, kFollowedBytes, longest);
    if (!chunk) {
      note_problem(chunk.error().text);
      break;
    }
    if (chunk->is_trimmed) return enter(Mode::kDeposed);
    for (const LogService::Entry& entry : chunk->entries) {
      const bool is_ours = !in_flight_.empty() && in_flight_.front().entry.last == entry.last &&
                           in_flight_.front().entry.bytes == entry.bytes;
      if (!is_ours) return enter(Mode::kDeposed);
      note_stored(in_flight_.front());
      in_flight_.pop_front();
      has_stored = true;
    }
    // It may be stale for a moment; the next round reads again.
    if (chunk->seen == seen) break;
    seen = chunk->seen;
  }
  if (has_stored) {
    end_refusals();
    wake_();
  }
  if (seen < extent->last) return;
  // The beginning of an entry, ours or not, cannot be continued.
  if (seen != stored_last_) return enter(Mode::kDeposed);
  // The log ends here, so all others are sent again.
  if (std::exchange(has_sent_again_, true)) wait_for_work(std::min(longest, kSendAgain));
  is_in_doubt_ = false;
  for (const Outgoing& outgoing : in_flight_) service_.append(outgoing.entry);
  unanswered_ += in_flight_.size();
}

void LogPump::send_trim() {
  Sequence before = 0;
  {
    const std::lock_guard guard(mutex_);
    before = trim_;
  }
  if (before <= trimmed_) return;
  // What is not removed now is removed with the next part.
  if (service_.trim(before)) trimmed_ = before;
}

}  // namespace millrace::journal
