#include "core/state/features/finished_jobs.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "base/varint.hpp"
#include "core/model/codec.hpp"

namespace millrace {
namespace {

/// All texts of an entry in one.
void write_texts(const JobFinished& record, FinishedJob& entry) {
  entry.has_name = !record.name.empty();
  const std::string_view rest = entry.has_name ? record.name : record.jid;
  entry.queue_bytes = static_cast<std::uint32_t>(record.queue.size());
  entry.wid_bytes = static_cast<std::uint32_t>(record.wid.size());
  const std::size_t bytes = record.queue.size() + record.wid.size() + rest.size();
  entry.bytes = static_cast<std::uint32_t>(bytes);
  const bool is_long = bytes > entry.short_texts.size();
  entry.long_texts.resize(is_long ? bytes : 0);
  char* to = is_long ? entry.long_texts.data() : entry.short_texts.data();
  for (const std::string_view text : {record.queue, record.wid, rest}) {
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    to += text.size();
  }
}

/// What is kept of them. One of them has its texts in the job's failure.
Attempts shorten(const Attempts& attempts, const Failure* failure) {
  Attempts kept = attempts;
  for (Attempt& attempt : kept.list) {
    if (attempt.has_failure && failure != nullptr) {
      attempt.errtype = failure->errtype;
      attempt.message = failure->message;
    }
    attempt.has_failure = false;
    attempt.message = std::string(cut(attempt.message, FinishedJobs::kMessageBytesMax));
    attempt.backtrace = std::vector<std::string>();
  }
  return kept;
}

/// As in its record. 0: it has no attempts and no arguments.
std::uint64_t detail_bytes(const FinishedJob& job) {
  return (job.attempts ? encoded_bytes(*job.attempts) : 0) +
         (job.args ? varint_bytes(job.args->size()) + job.args->size() : 0);
}

Box<std::string> args_of(const Job& job, const WorkUnitFormat& format) {
  constexpr std::string_view kCut = "…";
  WorkUnitFormat::Summary summary = format.summarize(job, JobFinished::kArgsBytesMax - kCut.size());
  if (summary.is_cut) summary.args += kCut;
  return std::move(summary.args);
}

/// Inlined, as `write` is: each job that ends passes, and where it is only noted, no record is made
/// for it.
[[gnu::always_inline]] inline JobFinished describe(std::uint64_t number, const Job& job,
                                                   const Queue& queue, JobEnd how, Time now,
                                                   const Attempts* attempts,
                                                   const WorkUnitFormat& format) {
  JobFinished record{.number = number,
                     .id = job.id,
                     .kind = job.kind,
                     .how = how,
                     .reserves = job.tallies().reserves,
                     .created_at = job.created_at,
                     .enqueued_at = job.enqueued_at,
                     .ended_at = now,
                     .queue = queue.name};
  const Reservation* const held = job.reservation();
  if (held != nullptr) {
    record.client = held->client;
    record.began_at = held->reserved_at;
    record.wid = held->wid;
  } else if (attempts != nullptr && !attempts->list.empty() && how == JobEnd::kSucceeded) {
    // The run had been taken from its worker before it reported.
    record.began_at = attempts->list.back().began;
    record.wid = attempts->list.back().wid;
  }
  if (attempts != nullptr) record.attempts = shorten(*attempts, job.failure());
  if (how == JobEnd::kFailed && job.has_body()) record.args = args_of(job, format);
  if (!job.is_spilled()) record.name = format.name_part(job);
  if (record.name.size() > JobFinished::kNameBytesMax) record.name = {};
  const bool is_pushed = job.kind == JobKind::kWorkUnit;
  if (is_pushed && record.name.empty() && held != nullptr) record.jid = held->jid;
  return record;
}

}  // namespace

JobFinished record_of(std::uint64_t number, const FinishedJob& job) {
  return {.number = number,
          .id = job.id,
          .kind = job.kind,
          .how = job.how,
          .reserves = job.reserves,
          .client = job.client,
          .created_at = job.created_at,
          .enqueued_at = job.enqueued_at,
          .began_at = job.began_at,
          .ended_at = job.ended_at,
          .queue = job.queue(),
          .wid = job.wid(),
          .name = job.name(),
          .jid = job.jid(),
          .attempts = job.attempts,
          .args = job.args};
}

void FinishedJobs::begin(const WorkUnitFormat& format, const Limits& limits) {
  format_ = &format;
  limits_ = limits;
  limits_.is_durable = limits.is_durable && limits.jobs_max > 0;
  noted_ = hashed_ = 0;
  count_ = 0;
  detail_bytes_ = 0;
  bare_to_ = 0;
  chunks_.clear();
  log_ = LogOrder<NodeOf>(NodeOf{this});
  record_bytes_ = 0;
}

// ---- ends ---------------------------------------------------------------------------------------

JobFinished FinishedJobs::record_of(const Job& job, const Queue& queue, JobEnd how, Time now,
                                    const Attempts* attempts) const {
  return describe(noted_ + 1, job, queue, how, now, attempts, *format_);
}

[[gnu::always_inline]] inline void FinishedJobs::write(Place place, JobFinished& record) {
  Chunk& chunk = *chunks_[place / kChunk];
  Number& number = chunk.numbers[place % kChunk];
  if (number == 0) ++count_;
  number = record.number;
  chunk.ids[place % kChunk] = record.id;
  FinishedJob& entry = chunk.jobs[place % kChunk];
  entry.id = record.id;
  entry.kind = record.kind;
  entry.how = record.how;
  entry.reserves = record.reserves;
  entry.client = record.client;
  entry.created_at = record.created_at;
  entry.enqueued_at = record.enqueued_at;
  entry.began_at = record.began_at;
  entry.ended_at = record.ended_at;
  write_texts(record, entry);
  if (!entry.attempts && !record.attempts && !entry.args && !record.args) return;
  keep_details(entry, std::move(record.attempts), std::move(record.args));
}

void FinishedJobs::keep_details(FinishedJob& job, Box<Attempts> attempts, Box<std::string> args) {
  detail_bytes_ -= detail_bytes(job);
  job.attempts = std::move(attempts);
  job.args = std::move(args);
  detail_bytes_ += detail_bytes(job);
  bare_to_ = std::max(bare_to_, oldest() - 1);
  while (detail_bytes_ > kDetailBytesMax && bare_to_ < noted_) {
    const Place place = place_of(++bare_to_);
    FinishedJob& bare = chunks_[place / kChunk]->jobs[place % kChunk];
    const std::uint64_t bytes = has(bare_to_) ? detail_bytes(bare) : 0;
    if (bytes == 0) continue;
    detail_bytes_ -= bytes;
    bare.attempts.reset();
    bare.args.reset();
    if (!is_durable()) continue;
    // Its record will be written without them.
    logged_of(place).bytes -= static_cast<std::uint32_t>(bytes);
    record_bytes_ -= bytes;
  }
}

void FinishedJobs::note(const Job& job, const Queue& queue, JobEnd how, Time now,
                        const Attempts* attempts) {
  if (limits_.jobs_max == 0) return;
  JobFinished record = describe(noted_ + 1, job, queue, how, now, attempts, *format_);
  noted_ = record.number;
  const Place place = place_of(record.number);
  if (place / kChunk >= chunks_.size()) make_room(place);
  write(place, record);
}

void FinishedJobs::make_room(Place place) {
  while (place / kChunk >= chunks_.size()) {
    Chunk& chunk = *chunks_.emplace_back(std::make_unique<Chunk>());
    if (is_durable()) chunk.logged = std::make_unique<std::array<Logged, kChunk>>();
  }
}

// ---- in the log ---------------------------------------------------------------------------------

void FinishedJobs::apply(JobFinished&& record) {
  if (!is_durable() || record.number + limits_.jobs_max <= noted_) return;
  const Place place = place_of(record.number);
  make_room(place);
  if (record.number > noted_) skip_to(record.number);
  // What it displaces; or itself, as it was before compaction wrote it again.
  clear(place);
  Logged& logged = logged_of(place);
  logged.bytes = static_cast<std::uint32_t>(encoded_bytes(record));
  record_bytes_ += logged.bytes;
  write(place, record);
  hashed_ = std::min(hashed_, record.number - 1);
  // The offset within the batch does not matter: a batch is never cut, so its beginning will do.
  log_.push_newest(place, 0);
}

/// Of the numbers between, no record has come so far: what is in their places is too old.
void FinishedJobs::skip_to(Number number) {
  const Number reach = number - std::min<Number>(number, limits_.jobs_max);
  for (Number between = std::max(noted_, reach) + 1; between < number; ++between) {
    const Place place = place_of(between);
    make_room(place);
    clear(place);
  }
  noted_ = number;
}

void FinishedJobs::clear(Place place) {
  Chunk& chunk = *chunks_[place / kChunk];
  Number& number = chunk.numbers[place % kChunk];
  if (number == 0) return;
  number = 0;
  --count_;
  chunk.ids[place % kChunk] = 0;
  chunk.hashes[place % kChunk] = 0;
  FinishedJob& gone = chunk.jobs[place % kChunk];
  if (gone.attempts || gone.args) keep_details(gone, {}, {});
  record_bytes_ -= logged_of(place).bytes;
  log_.remove(place);
}

void FinishedJobs::rewrite_oldest(std::string& batch) {
  const Place place = log_.oldest().value();
  log_.remove(place);
  encode(millrace::record_of(number_at(place), at(place)), batch);
  log_.push_newest(place, 0);
}

// ---- reading ------------------------------------------------------------------------------------

void FinishedJobs::each_before(Number number, Time now, const Visitor& visit) const {
  number = std::min(number, end());
  while (number > oldest()) {
    if (!has(--number)) continue;
    const FinishedJob& job = at(place_of(number));
    // Those before it ended earlier still.
    if (!is_shown(job, now) || !visit(number, job)) return;
  }
}

FinishedJobs::Number FinishedJobs::first_shown(Time now) const {
  Number first = oldest();
  // Halved until it is found, since they are in the order of their ends.
  for (Number end = noted_ + 1; first < end;) {
    const Number middle = first + (end - first) / 2;
    Number there = middle;
    while (!has(there)) ++there;
    if (is_shown(at(place_of(there)), now)) {
      end = middle;
    } else {
      first = there + 1;
    }
  }
  return first;
}

std::optional<Time> FinishedJobs::kept_since(Time now) const {
  Number first = first_shown(now);
  while (first <= noted_ && !has(first)) ++first;
  if (first > noted_) return std::nullopt;
  return at(place_of(first)).ended_at;
}

std::size_t FinishedJobs::shown(Time now) const {
  const Number first = first_shown(now);
  const std::size_t places = noted_ + 1 - first;
  if (count_ == noted_ + 1 - oldest()) return places;
  std::size_t shown = 0;
  for (Number number = first; number <= noted_; ++number) shown += has(number) ? 1 : 0;
  return shown;
}

const FinishedJob* FinishedJobs::find(JobId id, Time now) const {
  if (id == 0) return nullptr;
  for (const auto& chunk : chunks_) {
    const auto found = std::find(chunk->ids.begin(), chunk->ids.end(), id);
    if (found == chunk->ids.end()) continue;
    const FinishedJob& job = chunk->jobs[static_cast<std::size_t>(found - chunk->ids.begin())];
    return is_shown(job, now) ? &job : nullptr;
  }
  return nullptr;
}

std::uint32_t FinishedJobs::hash_of(const FinishedJob& job) const {
  // As of those that live: what was put is not found by a jid.
  if (job.kind == JobKind::kBytes) return 0;
  if (job.has_name) return format_->hash_of_name(format_->read_name(job.name()).jid);
  return job.jid().empty() ? 0 : format_->hash_of_name(job.jid());
}

bool FinishedJobs::hash_some_names(Number number) const {
  hashed_ = std::max(hashed_, oldest() - 1);
  number = std::min(number, noted_);
  for (std::size_t made = 0; hashed_ < number && made < kSliceJobs; ++made) {
    const Place place = place_of(++hashed_);
    const std::uint32_t hash = has(hashed_) ? hash_of(at(place)) : 0;
    chunks_[place / kChunk]->hashes[place % kChunk] = hash;
  }
  return hashed_ >= number;
}

void FinishedJobs::each_named(std::uint32_t hash, std::size_t limit, Time now,
                              const std::function<void(const FinishedJob&)>& visit) const {
  while (!hash_some_names(noted_)) {
  }
  for (Number number = noted_; number >= oldest() && limit > 0; --number) {
    const Place place = place_of(number);
    if (chunks_[place / kChunk]->hashes[place % kChunk] != hash) continue;
    if (!is_shown(at(place), now)) return;
    visit(at(place));
    --limit;
  }
}

}  // namespace millrace
