#include "core/state/jobs.hpp"

#include <algorithm>
#include <utility>

#include "core/model/codec.hpp"

namespace millrace {
namespace {

/// A failure that was read from the log does not say its group. It is mostly the former one.
void keep_group(const Failure* former, const Failure* now) {
  if (former == nullptr || now == nullptr || now->group.number != 0) return;
  if (*former == *now) now->group.number = former->group.number;
}

}  // namespace

Jobs::Jobs(Queues& queues, Totals& totals, Throttles& throttles)
    : queues_(queues), totals_(totals), orders_(queues, throttles), bodies_(jobs_) {}

// ---- reading ------------------------------------------------------------------------------------

const Job* Jobs::find(JobId id) const {
  const auto slot = index_.find(id);
  return slot ? &jobs_[*slot] : nullptr;
}

const Job& Jobs::with_body(JobSlot slot) const {
  const Job& job = jobs_[slot];
  if (job.is_spilled()) bodies_.load(job, slot);
  return job;
}

const Job* Jobs::find_with_body(JobId id) const {
  const auto slot = index_.find(id);
  return slot ? &with_body(*slot) : nullptr;
}

bool Jobs::load_body(const Job& job) const {
  // Through the index: the job does not know its slot.
  if (job.is_spilled()) (void)find_with_body(job.id);
  return job.has_body();
}

bool Jobs::reload_body(const Job& job) const {
  bodies_.try_again(job);
  return load_body(job);
}

/// By what was measured at ten million jobs. The texts of failures are what records have beyond
/// their bodies and a usual rest.
std::size_t Jobs::other_memory_bytes() const {
  // The job, its entries in the index and in the orders of its state.
  constexpr std::size_t kJobBytes = 144;
  constexpr std::size_t kUsualRestBytes = 64;
  // The features, and the entry in the index.
  constexpr std::size_t kTrackedBytes = 72;
  constexpr std::size_t kNameBytes = 14;
  const std::size_t usual = all_body_bytes_ + jobs_.size() * kUsualRestBytes;
  const std::size_t texts = record_bytes_ - std::min<std::size_t>(record_bytes_, usual);
  return jobs_.size() * kJobBytes + tracked_.size() * kTrackedBytes + names_.size() * kNameBytes +
         orders_.members().memory_bytes() + orders_.failures().memory_bytes() + texts;
}

// ---- records ------------------------------------------------------------------------------------

std::uint32_t Jobs::name_hash(const Job& job, const JobAdded& record) const {
  if (format_ == nullptr) return 0;
  if (job.kind == JobKind::kWorkUnit) {
    return record.name_hash != 0 ? record.name_hash : format_->name_hash(record.body);
  }
  const Attempts* const attempts = attempts_of(job);
  if (attempts == nullptr || !attempts->has_worker()) return 0;
  return format_->name_hash_of_put(job.id, record.body);
}

void Jobs::apply(JobAdded&& record) {
  // First, so that a queue whose only job is written once more does not vanish in between.
  const QueueId queue = queues_.open(record.queue);
  // A whole record of a job that is there: compaction has written it once more.
  // Or it was moved to another queue.
  const auto former = index_.find(record.id);
  const QueueId former_queue = former ? jobs_[*former].queue : queue;
  if (former) erase(*former);
  const JobSlot slot = jobs_.allocate();
  Job& job = jobs_[slot];
  static_cast<StoredJob&>(job) = std::move(record.fields);
  job.id = record.id;
  job.queue = queue;
  // As in `Broker::put`, whatever the record says.
  job.ttr_s = std::max<std::uint32_t>(job.ttr_s, 1);
  bodies_.keep(job, record.body);
  all_body_bytes_ += job.body_bytes;
  if (job.has_mark(job_marks::kHasAttempts)) {
    attempts_[job.id] = std::make_unique<Attempts>(std::move(*record.attempts));
  }
  enter_log(slot, record.body_at);
  index_.insert(job.id, slot);
  if (const std::uint32_t hash = name_hash(job, record)) names_.enter(slot, hash);
  if (job.features && job.features->is_tracked) tracked_.enter(job, slot);
  enter_orders(job, slot);
  totals_.mark_used(job.id, job.sequence);
  if (former_queue != queue) queues_.collect(former_queue);
}

void Jobs::apply(JobChanged&& record) {
  // Also of a job that is not there: the sequence was drawn all the same.
  totals_.mark_used(record.id, record.fields.sequence);
  const auto slot = index_.find(record.id);
  if (!slot) return;
  Job& job = jobs_[*slot];
  keep_group(job.failure(), record.fields.failure());
  leave_orders(job, *slot, record.fields.state);
  // The rest of the job's whole record stays as long as it is.
  const std::uint64_t former_bytes = encoded_bytes(static_cast<const JobFields&>(job));
  const std::uint8_t attempts = job.marks & job_marks::kHasAttempts;
  static_cast<JobFields&>(job) = std::move(record.fields);
  // Whatever the record says, the attempts are there or not.
  job.marks = static_cast<std::uint8_t>((job.marks & ~job_marks::kHasAttempts) | attempts);
  // A reservation that was given back may have been all there was.
  if (job.history && job.history->is_empty()) job.history.reset();
  count_out(former_bytes);
  record_bytes_ += encoded_bytes(static_cast<const JobFields&>(job));
  enter_orders(job, *slot);
}

void Jobs::apply(AttemptEnded&& record) {
  const auto slot = index_.find(record.id);
  if (!slot) return;
  Job& job = jobs_[*slot];
  // The rest of the job's whole record stays as long as it is.
  count_out(encoded_attempt_bytes(job, attempts_of(job)));
  const Reservation* const held = job.reservation();
  if (format_ != nullptr && held != nullptr && !held->wid.empty() && !names_.has(*slot)) {
    names_.enter(*slot, format_->hash_of_name(held->jid));
  }
  std::unique_ptr<Attempts>& attempts = attempts_[job.id];
  if (!attempts) attempts = std::make_unique<Attempts>();
  attempts->add(std::move(*record.attempt), job.failure());
  job.marks |= job_marks::kHasAttempts;
  record_bytes_ += encoded_attempt_bytes(job, attempts.get());
}

void Jobs::apply(JobRemoved&& record) {
  const auto slot = index_.find(record.id);
  if (!slot) return;
  const QueueId queue = jobs_[*slot].queue;
  erase(*slot);
  queues_.collect(queue);
}

void Jobs::erase(JobSlot slot) {
  const Job& job = jobs_[slot];
  leave_orders(job, slot, std::nullopt);
  if (job.features && job.features->is_tracked) tracked_.leave(job, slot);
  names_.leave(slot);
  leave_log(slot);
  bodies_.forget(job);
  CHECK(job.body_bytes <= all_body_bytes_);
  all_body_bytes_ -= job.body_bytes;
  if (job.has_mark(job_marks::kHasAttempts)) attempts_.erase(job.id);
  index_.erase(job.id);
  jobs_.free(slot);
}

/// The job that takes a lock last has it. What the other one lost was recorded, but a damaged log
/// may say anything.
void Jobs::take_lock(JobSlot slot) {
  const auto former = locks_.take(slot);
  if (!former) return;
  Job& job = jobs_[*former];
  count_out(whole_bytes(job));
  if (job.lends_lock()) --lent_locks_;
  job.marks &= static_cast<std::uint8_t>(~job_marks::kHoldsLock);
  record_bytes_ += whole_bytes(job);
}

// ---- as a live kind -----------------------------------------------------------------------------

/// Of the job's whole record, if it were written now.
std::uint64_t Jobs::whole_bytes(const Job& job) const {
  return encoded_bytes(job, queues_.at(job.queue).name, attempts_of(job));
}

void Jobs::count_out(std::uint64_t bytes) {
  CHECK(bytes <= record_bytes_);
  record_bytes_ -= bytes;
}

/// The place of a job is the byte before its body.
void Jobs::enter_log(JobSlot slot, std::uint64_t body_at) {
  // A record begins with its tag, so no body is at 0.
  CHECK(body_at > 0);
  log_.push_newest(slot, body_at - 1);
  record_bytes_ += whole_bytes(jobs_[slot]);
}

void Jobs::leave_log(JobSlot slot) {
  const Job& job = jobs_[slot];
  // It points to the newest job whose body is in memory. What is newer is spilled already.
  if (newest_resident_ == slot) {
    newest_resident_ = job.log.older == kNoSlot ? std::nullopt : std::optional(job.log.older);
  }
  log_.remove(slot);
  count_out(whole_bytes(job));
}

void Jobs::rewrite_oldest(std::string& batch) {
  // Compaction looks at the place before it asks, so there is one.
  if (rewrite_slot(log_.oldest().value(), batch)) ++rewritten_count_;
}

void Jobs::rewrite(JobId id, std::string& batch) {
  CHECK(rewrite_slot(index_.find(id).value(), batch));
}

bool Jobs::rewrite_slot(JobSlot slot, std::string& batch) {
  const Job& job = jobs_[slot];
  // It may be read by now.
  if (job.has_mark(job_marks::kBodyUnreadable)) bodies_.try_again(job);
  bodies_.load(job, slot);
  if (job.is_spilled()) {
    if (!job.has_mark(job_marks::kBodyUnreadable)) return false;
    rewrite_without_body(slot, batch);
    return true;
  }
  encode(job, queues_.at(job.queue).name, attempts_of(job), batch);
  leave_log(slot);
  enter_log(slot, batch.size() - batch_begin_ - job.body_bytes);
  return true;
}

/// What is written is applied too: so the job is what a replay makes of it.
void Jobs::rewrite_without_body(JobSlot slot, std::string& batch) {
  const Job& job = jobs_[slot];
  JobAdded record{.id = job.id, .queue = queues_.at(job.queue).name, .body = {}, .fields = job};
  if (const Attempts* const attempts = attempts_of(job)) record.attempts = *attempts;
  encode(record, batch);
  record.body_at = batch.size() - batch_begin_;
  apply(std::move(record));
}

void Jobs::place(Lsn begin) {
  log_.place(begin, [this](JobSlot slot) {
    // Only now can the body be read again, and so be given up.
    if (!bodies_.can_spill() || !bodies_.is_too_much(bytes_beside_bodies())) {
      newest_resident_ = slot;
      return;
    }
    bodies_.spill(jobs_[slot]);
    spill_some();
  });
}

/// The newest first, since in a line they are needed last. A new job brings less than may be
/// spilled for it, so that memory becomes less even where jobs alone outgrow what was kept.
void Jobs::spill_some() {
  // A few for each new job: spilling a backlog at once would stop all clients.
  constexpr int kAtATime = 4;
  for (int i = 0; i < kAtATime && newest_resident_; ++i) {
    if (!bodies_.is_too_much(bytes_beside_bodies())) return;
    const Job& job = jobs_[*newest_resident_];
    bodies_.spill(job);
    newest_resident_ = job.log.older == kNoSlot ? std::nullopt : std::optional(job.log.older);
  }
}

}  // namespace millrace
