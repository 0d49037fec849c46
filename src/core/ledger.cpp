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

void Ledger::commit(HistoryChanged&& record) {
  Record whole(std::move(record));
  encode(whole, batch_);
  store_.apply(std::move(whole));
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

std::string Ledger::take_batch() {
  if (are_counters_dirty_) encode(counters_, batch_);
  are_counters_dirty_ = false;
  return std::exchange(batch_, {});
}

}  // namespace millrace
