#include "core/ledger.hpp"

namespace millrace {

void Ledger::commit(JobAdded&& record) {
  Record whole(std::move(record));
  encode(whole, batch_);
  store_.apply(std::move(whole));
}

void Ledger::commit(JobChanged&& record) {
  const auto& reservation = record.fields.reservation;
  const bool is_written = !reservation || reservation->is_held_by_worker();
  Record whole(std::move(record));
  if (is_written) encode(whole, batch_);
  store_.apply(std::move(whole));
}

void Ledger::commit(JobRemoved&& record) {
  encode(record, batch_);
  store_.apply(record);
}

void Ledger::commit(QueueChanged&& record) {
  encode(record, batch_);
  store_.apply(record);
}

Outcome<Done> Ledger::replay(std::string_view batch) {
  while (!batch.empty()) {
    Outcome<Record> record = decode(batch);
    if (!record) return record.error();
    store_.apply(std::move(*record));
  }
  counters_ = store_.counters();
  return Done{};
}

void Ledger::start_day(Time now) {
  const auto day = std::chrono::floor<std::chrono::days>(now.time_since_epoch()).count();
  are_counters_dirty_ = true;
  if (day == counters_.day) return;
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
  counters_.processed = counters_.failed = 0;
  counters_.processed_today = counters_.failed_today = 0;
}

std::string Ledger::take_batch() {
  if (are_counters_dirty_) encode(counters_, batch_);
  are_counters_dirty_ = false;
  return std::exchange(batch_, {});
}

}  // namespace millrace
