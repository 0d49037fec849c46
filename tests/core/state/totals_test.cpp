#include "core/state/totals.hpp"

#include "core/model/codec.hpp"
#include "core/state/ledger.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

/// A job that is added and removed by its own batches, each of which begins there.
void add_and_remove(Ledger& ledger, Lsn added_at, Lsn removed_at) {
  JobAdded record{.id = ledger.store().totals().draw_id(), .queue = "default", .body = "x"};
  const JobId id = record.id;
  record.fields.sequence = id;
  ledger.commit(std::move(record));
  (void)ledger.take_batch();
  ledger.place(added_at);
  ledger.commit(JobRemoved{.id = id});
  (void)ledger.take_batch();
  ledger.place(removed_at);
}

}  // namespace

TEST_CASE("totals: a log that never told them is needed from its beginning, for its ids") {
  Ledger ledger;
  add_and_remove(ledger, 100, 200);
  CHECK(ledger.oldest_needed() == 0);
}

TEST_CASE("totals: written again like every live thing, they keep the ids of what is trimmed") {
  Ledger ledger;
  add_and_remove(ledger, 100, 200);
  ledger.rewrite(300, SIZE_MAX);
  CHECK(ledger.oldest_needed() == std::nullopt);
  const std::string batch = ledger.take_batch();
  ledger.place(300);
  CHECK(ledger.oldest_needed() == 300);
  Ledger after;
  REQUIRE(after.replay(batch, 300));
  CHECK(after.store().totals().draw_id() == 2);
}

TEST_CASE("totals: they are in each batch that changed them, which is then what is needed") {
  Ledger ledger;
  ledger.count_processed(Time{24h});
  CHECK(ledger.oldest_needed() == std::nullopt);
  CHECK(ledger.take_batch().size() == ledger.live_bytes());
  ledger.place(100);
  CHECK(ledger.oldest_needed() == 100);
  CHECK_FALSE(ledger.has_batch());
  ledger.count_failed(Time{24h});
  CHECK(ledger.oldest_needed() == std::nullopt);
}

TEST_CASE("totals: replayed ones are where their batch begins") {
  std::string batch;
  encode(CountersChanged{.next_id = 7}, batch);
  Ledger ledger;
  REQUIRE(ledger.replay(batch, 100));
  CHECK(ledger.oldest_needed() == 100);
  CHECK(ledger.store().totals().draw_id() == 7);
}

TEST_CASE("days: the record of them is needed as long as there are any") {
  Ledger ledger;
  ledger.count_processed(Time{24h});
  ledger.count_processed(Time{48h});
  (void)ledger.take_batch();
  ledger.place(100);
  ledger.count_processed(Time{48h});
  (void)ledger.take_batch();
  ledger.place(200);
  CHECK(ledger.oldest_needed() == 100);
  ledger.rewrite(200, SIZE_MAX);
  CHECK(ledger.oldest_needed() == 200);
  ledger.reset_counters();
  CHECK(ledger.store().days().list().empty());
  CHECK(ledger.oldest_needed() == std::nullopt);
}

}  // namespace millrace::test
