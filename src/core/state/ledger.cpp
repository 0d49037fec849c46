#include "core/state/ledger.hpp"

#include "core/state/batch_reader.hpp"

namespace millrace {

void Ledger::write(const Record& record) {
  encode(record, batch_);
  ++records_written_;
}

void Ledger::commit(JobAdded&& record) {
  const std::size_t body_bytes = record.body.size();
  Record whole(std::move(record));
  write(whole);
  std::get<JobAdded>(whole).body_at = batch_.size() - body_bytes;
  store_.apply(std::move(whole));
}

void Ledger::commit(JobChanged&& record) {
  const auto& reservation = record.fields.reservation;
  const bool is_written = !reservation || reservation->is_held_by_worker();
  Record whole(std::move(record));
  if (is_written) write(whole);
  store_.apply(std::move(whole));
}

void Ledger::commit(JobRemoved&& record) {
  write(record);
  store_.apply(record);
}

void Ledger::commit_whole(JobChanged&& record) {
  const JobId id = record.id;
  store_.apply(std::move(record));
  rewrite_job(store_.slot_of(*store_.find(id)));
}

void Ledger::commit(QueueChanged&& record) {
  write(record);
  store_.apply(record);
}

void Ledger::commit(HistoryChanged&& record) {
  Record whole(std::move(record));
  write(whole);
  store_.apply(std::move(whole));
}

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
  store_.set_replaying(true);
  for (Record& record : records) store_.apply(std::move(record));
  store_.set_replaying(false);
  records_replayed_ += records.size();
  counters_ = store_.counters();
}

void Ledger::start_day(Time now) {
  const auto day = std::chrono::floor<std::chrono::days>(now.time_since_epoch()).count();
  are_counters_dirty_ = true;
  // A clock that was set back since the last run does not open a day anew.
  if (day <= counters_.day) return;
  if (counters_.processed_today > 0) {
    HistoryChanged history{.days = store_.history()};
    if (history.days.size() == kHistoryDaysMax) history.days.erase(history.days.begin());
    history.days.push_back({.day = counters_.day,
                            .processed = counters_.processed_today,
                            .failed = counters_.failed_today});
    commit(std::move(history));
  }
  counters_.day = static_cast<std::int32_t>(day);
  counters_.processed_today = 0;
  counters_.failed_today = 0;
}

void Ledger::count_processed(Time now) {
  start_day(now);
  ++counters_.processed;
  ++counters_.processed_today;
}

void Ledger::count_failed(Time now) {
  start_day(now);
  ++counters_.failed;
  ++counters_.failed_today;
}

void Ledger::reset_counters() {
  are_counters_dirty_ = true;
  if (!store_.history().empty()) commit(HistoryChanged{});
  counters_.processed = counters_.failed = 0;
  counters_.processed_today = counters_.failed_today = 0;
}

/// What a connection holds is written as ready, which it becomes when the connection ends: and no
/// connection outlives the process.
void Ledger::rewrite_job(JobSlot slot) {
  const Job& job = store_.with_body(slot);
  JobFields fields = Store::fields_of(job);
  if (fields.reservation && !fields.reservation->is_held_by_worker()) {
    fields.state = JobState::kReady;
    fields.when = Time{};
    fields.reservation.reset();
  }
  write(JobAdded{.id = job.id,
                 .kind = job.kind,
                 .queue = store_.queue(job.queue).name,
                 .created_at = job.created_at,
                 .ttr_s = job.ttr_s,
                 .body = job.body_view(),
                 .fields = std::move(fields)});
  store_.move_to_log_end(slot, batch_.size() - job.body_bytes);
}

void Ledger::rewrite(Lsn before, std::size_t bytes_max) {
  const std::size_t full = batch_.size() + bytes_max;
  while (store_.oldest_needed() < before && batch_.size() < full) {
    const JobSlot oldest = store_.oldest_job();
    const Queue* const queue = store_.oldest_queue_record();
    if (oldest != kNoJob && store_.stands_before(oldest, before)) {
      rewrite_job(oldest);
      ++jobs_rewritten_;
    } else if (queue != nullptr && store_.stands_before(*queue, before)) {
      write(QueueChanged{.name = queue->name,
                         .is_kept = queue->is_kept,
                         .paused_until = queue->paused_until,
                         .pause_s = queue->pause_s});
      store_.move_to_log_end(*queue);
    } else {
      commit(HistoryChanged{.days = store_.history()});
    }
  }
}

void Ledger::write_lost_pauses() {
  for (const std::string& name : store_.take_lost_pauses()) {
    // A queue of that name that has come into being since has the last word.
    const Queue* const queue = store_.find_queue(name);
    if (queue == nullptr || !queue->record_place) write(QueueChanged{.name = name});
  }
}

std::string Ledger::take_batch() {
  if (store_.has_lost_pauses()) write_lost_pauses();
  if (are_counters_dirty_) write(counters_);
  are_counters_dirty_ = false;
  return std::exchange(batch_, {});
}

}  // namespace millrace
