#include "core/state/ledger.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/model/codec.hpp"
#include "core/state/batch_reader.hpp"

namespace millrace {
namespace {

/// Room that a batch begins with, so that it need not grow while it gets its first records.
constexpr std::size_t kUsualBatchBytes = 1024;

/// When the record was made, or earlier. Times that a client may have given tell nothing, and a
/// time to come only where all records of its kind have told how long it was then.
Time made_at(const JobFields& fields) {
  const Reservation* const held =
      fields.state == JobState::kReserved ? fields.reservation() : nullptr;
  return held != nullptr ? held->reserved_at : fields.enqueued_at;
}

/// Of a job that was released, and has the end of that delay: when the delay began.
Time released_at(const JobFields& fields) {
  return moved_by(fields.when, -std::chrono::seconds(fields.delay_s));
}

Time made_at(const JobChanged& changed, const Jobs& jobs) {
  const Time at = made_at(changed.fields);
  if (changed.fields.state != JobState::kScheduled) return at;
  // Only the release itself tells by its delay. A retry at a later time sets another end, and older
  // versions left the delay of the release with it.
  const Job* const before = jobs.find(changed.id);
  const bool is_release =
      before != nullptr && changed.fields.tallies().releases > before->tallies().releases;
  return is_release ? std::max(at, released_at(changed.fields)) : at;
}

Time made_at(const JobAdded& added) {
  const JobFields& fields = added.fields;
  const Time at = std::max(added.fields.created_at, made_at(fields));
  // Compaction has written it once more. A retry at a later time would have counted as a kick.
  const Tallies tallies = fields.tallies();
  const bool is_released =
      fields.state == JobState::kScheduled && tallies.releases > 0 && tallies.kicks == 0;
  return is_released ? std::max(at, released_at(fields)) : at;
}

Time made_at(const QueueChanged& changed) {
  if (changed.paused_until == Time{} || changed.paused_until == kNever) return Time{};
  return moved_by(changed.paused_until, -std::chrono::seconds(changed.pause_s));
}

Time made_at(const JobBatchAdded& added) {
  return added.created_at;
}

Time made_at(const JobBatchChanged& changed) {
  return changed.fields.since;
}

Time made_at(const AttemptEnded& ended) {
  return ended.attempt->ended;
}

Time made_at(const TrackChanged& changed) {
  return changed.updated_at;
}

Time made_at(const PushEnded& ended) {
  return ended.ended_at;
}

/// So no later process has an earlier time: they end in the order of their numbers.
Time made_at(const JobFinished& finished) {
  return finished.ended_at;
}

/// The epoch: there is no note.
Time made_at(const ErrorMarked& marked) {
  return marked.mark.noted_at;
}

Time made_at(const ChangeNoted& noted) {
  return noted.change->at;
}

/// These have no time, or only times of the wall clock and times to come. A new kind of record has
/// to be here or above.
template <typename Kind>
concept Timeless =
    kIsRecordKind<Kind, std::variant<JobRemoved, CountersChanged, HistoryChanged, JobBatchRemoved,
                                     TrackRemoved, CronChanged, CronRemoved, ThrottleChanged,
                                     ThrottleRemoved, LockSecretDrawn, ClockRead, PushForgotten,
                                     ErrorUnmarked, ViewSaved, TokenAdded, TokenRemoved>>;
Time made_at(const Timeless auto&) {
  return Time{};
}

Time made_at(const Record& record, const Store& store) {
  const auto of_kind = [&store]<typename Kind>(const Kind& value) {
    if constexpr (std::is_same_v<Kind, JobChanged>)
      return made_at(value, store.jobs());
    else
      return made_at(value);
  };
  return std::visit(of_kind, record);
}

}  // namespace

// ---- committing ---------------------------------------------------------------------------------

// Each is written first: views in a record may point into what applying it changes.

template <typename AnyRecord>
void Ledger::write(const AnyRecord& record) {
  encode(record, batch_);
  ++records_written_;
}

void Ledger::commit(JobAdded&& record) noexcept {
  body_in_place_.empty() ? write(record) : write_around_body(record);
  // A record of a job ends with its body.
  record.body_at = records_bytes() - record.body.size();
  store_.apply(std::move(record));
}

void Ledger::commit(JobChanged&& record) noexcept {
  const bool ends_with_process = record.fields.is_held_by_connection();
  if (!ends_with_process) write(record);
  if (record.fields.state != JobState::kReserved) {
    // Whoever reserves it next is told of a job that is as this record says.
    changes_.note(record.id);
  } else if (!ends_with_process) {
    ++reservation_count_;
  }
  store_.apply(std::move(record));
}

void Ledger::commit_held(JobChanged&& record) noexcept {
  CHECK(record.fields.is_held_by_connection());
  write(record);
  changes_.note(record.id);
  store_.apply(std::move(record));
}

void Ledger::commit(JobRemoved&& record) noexcept {
  write(record);
  store_.apply(std::move(record));
}

void Ledger::commit(JobFinished&& record) noexcept {
  write(record);
  store_.apply(std::move(record));
}

void Ledger::commit(Record&& record) noexcept {
  write(record);
  store_.apply(std::move(record));
}

void Ledger::take_over(LongBody& body) {
  body_in_place_ = body.take_record();
  store_.jobs().bodies().take_over(body.take_bytes());
}

/// The records so far and the head of this one go before the body.
void Ledger::write_around_body(const JobAdded& record) {
  std::string body = std::exchange(body_in_place_, {});
  CHECK(body.size() == LongBody::kFrontBytes + record.body.size());
  encode_without_body(record, batch_);
  ++records_written_;
  const std::size_t head_bytes = records_bytes();
  if (head_bytes > LongBody::kFrontBytes) {
    batch_ += record.body;
    return;
  }
  const std::size_t begin = LongBody::kFrontBytes - head_bytes;
  batch_.copy(body.data() + begin, head_bytes, batch_begin_);
  batch_.swap(body);
  begin_batch_at(begin);
}

void Ledger::begin_batch_at(std::size_t begin) {
  batch_begin_ = begin;
  store_.set_batch_begin(begin);
}

void Ledger::commit_whole(JobChanged&& record) {
  const JobId id = record.id;
  const Job* const job = store_.jobs().find_with_body(id);
  CHECK(job != nullptr);
  if (!job->has_body()) return commit(std::move(record));
  store_.apply(std::move(record));
  store_.rewrite_job(id, batch_);
  ++records_written_;
}

// ---- the batch ----------------------------------------------------------------------------------

/// Something is written once a batch, when it ends.
bool Ledger::has_unwritten() const {
  bool has = false;
  Store::each_kind(store_, [&has]<typename Kind>(const Kind& kind) {
    if constexpr (WrittenLast<Kind>) has = has || kind.has_unwritten();
  });
  return has;
}

bool Ledger::has_batch() const {
  return !batch_.empty() || has_unwritten();
}

bool Ledger::is_batch_awaited() const {
  return has_unwritten() || records_written_ - records_before_batch_ > reservation_count_;
}

void Ledger::record_clock(Time wall) {
  if (!has_batch() || !store_.log_clock().is_due(wall)) return;
  ClockRead record{.at = wall};
  encode(record, batch_);
  store_.apply(std::move(record));
}

RecordBatch Ledger::take_batch() {
  Store::each_kind(store_, [this]<typename Kind>(Kind& kind) {
    if constexpr (WrittenLast<Kind>) {
      if (kind.has_unwritten()) records_written_ += kind.write(batch_);
    }
  });
  taken_bytes_ = records_bytes();
  bytes_taken_ += taken_bytes_;
  reservation_count_ = 0;
  records_before_batch_ = records_written_;
  RecordBatch batch(std::move(batch_), batch_begin_);
  batch_.clear();
  if (batch_begin_ > 0) begin_batch_at(0);
  batch_.reserve(kUsualBatchBytes);
  return batch;
}

void Ledger::place(Lsn begin) {
  Store::each_kind(store_, [begin](LiveKind auto& kind) { kind.place(begin); });
  changes_.place(begin + std::exchange(taken_bytes_, 0));
}

Lsn Ledger::needed_for(const Job& job) const {
  // Of a job that compaction has just written again, the former record would do. But the new one
  // is soon durable.
  if (!job.log.place.is_in_log()) return kWholeLog;
  return std::max(job.body_at() + job.body_bytes, changes_.end_of(job.id));
}

// ---- replay -------------------------------------------------------------------------------------

Outcome<Done> Ledger::replay(std::string_view batch, Lsn begin) {
  for (BatchReader reader(batch); !reader.is_done();) {
    Outcome<std::vector<Record>> records = reader.next();
    if (!records) return records.error();
    replay(std::move(*records));
  }
  place(begin);
  return Done{};
}

void Ledger::replay(std::vector<Record>&& records) {
  // While true, a paused queue without jobs stays: its jobs may come later in the log.
  store_.set_replaying(true);
  for (Record& record : records) {
    latest_time_ = std::max(latest_time_, made_at(record, store_));
    store_.apply(std::move(record));
  }
  store_.set_replaying(false);
  records_replayed_ += records.size();
}

// ---- compaction ---------------------------------------------------------------------------------

std::optional<Lsn> Ledger::oldest_needed() const {
  std::optional<Lsn> oldest;
  Store::each_kind(store_, [&oldest](const auto& kind) {
    // nullopt: nothing of that kind is live, or all of it is in the batch at hand.
    const std::optional<Lsn> place = kind.oldest_place();
    if (place && (!oldest || *place < *oldest)) oldest = place;
  });
  return oldest;
}

/// Writes the whole record at `oldest_needed` once more, if that is before `before`: false if not,
/// or if a body is missing (`Jobs::rewrite_oldest`).
bool Ledger::rewrite_oldest(Lsn before) {
  const std::optional<Lsn> oldest = oldest_needed();
  if (!oldest || *oldest >= before) return false;
  const std::size_t begin = batch_.size();
  Store::each_kind(store_, [&](LiveKind auto& kind) {
    // Several kinds may have a record in the same batch. Each has its turn, one thing a call, so
    // that the caller can stop at its limit of bytes.
    if (batch_.size() == begin && kind.oldest_place() == oldest) kind.rewrite_oldest(batch_);
  });
  return batch_.size() > begin;
}

void Ledger::rewrite(Lsn before, std::size_t bytes_max) {
  const std::size_t begin = batch_.size();
  // At least one record, however long: otherwise a body larger than the share would stop
  // compaction.
  while (batch_.size() - begin < bytes_max && rewrite_oldest(before)) {
    ++records_written_;
  }
}

std::uint64_t Ledger::live_bytes() const {
  std::uint64_t bytes = 0;
  Store::each_kind(store_, [&bytes](const auto& kind) { bytes += kind.live_bytes(); });
  return bytes;
}

// ---- totals -------------------------------------------------------------------------------------

void Ledger::begin_day(Time now) {
  // With the first run of a day, not at midnight: so no timer is needed.
  if (const auto over = store_.totals().begin_day(store_.wall_clock().shown(now)))
    commit(store_.days().with(*over));
}

void Ledger::count_processed(Time now) {
  begin_day(now);
  store_.totals().count_processed();
}

void Ledger::count_failed(Time now) {
  begin_day(now);
  store_.totals().count_failed();
}

void Ledger::reset_counters() {
  store_.totals().reset();
  if (!store_.days().list().empty()) commit(HistoryChanged{});
}

}  // namespace millrace
