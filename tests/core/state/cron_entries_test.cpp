#include "core/state/features/cron_entries.hpp"

#include <string>

#include "core/model/codec.hpp"
#include "support/doctest.hpp"

namespace millrace {
namespace {

/// As the ledger does it, with one record a batch.
void write(CronEntries& entries, std::string_view id, Lsn at) {
  entries.apply(CronChanged{.id = id, .planned = Time{std::chrono::seconds{at}}});
  entries.place(at);
}

}  // namespace

TEST_CASE("cron entries: the log is needed from the oldest entry on") {
  CronEntries entries;
  CHECK(entries.oldest_place() == std::nullopt);
  write(entries, "a", 100);
  write(entries, "b", 200);
  CHECK(entries.oldest_place() == 100);
  write(entries, "a", 300);
  CHECK(entries.oldest_place() == 200);
}

TEST_CASE("cron entries: compaction writes the oldest one again, as it is") {
  CronEntries entries;
  write(entries, "a", 100);
  write(entries, "b", 200);
  std::string batch;
  entries.rewrite_oldest(batch);
  CHECK(entries.oldest_place() == 200);
  entries.place(300);
  std::string_view bytes = batch;
  const auto record = decode(bytes);
  REQUIRE(record);
  CHECK(std::get<CronChanged>(record.value()) == record_of(*entries.find("a")));
}

TEST_CASE("cron entries: live bytes are those of all records") {
  CronEntries entries;
  write(entries, "a", 100);
  write(entries, "b", 200);
  CHECK(entries.live_bytes() == encoded_bytes(record_of(*entries.find("a"))) +
                                    encoded_bytes(record_of(*entries.find("b"))));
  entries.apply(CronRemoved{.id = "a"});
  entries.apply(CronRemoved{.id = "b"});
  entries.apply(CronRemoved{.id = "b"});
  CHECK(entries.live_bytes() == 0);
  CHECK(entries.oldest_place() == std::nullopt);
}

TEST_CASE("cron entries: places of removed ones are used again") {
  CronEntries entries;
  write(entries, "a", 100);
  entries.apply(CronRemoved{.id = "a"});
  write(entries, "b", 200);
  write(entries, "a", 300);
  std::string ids;
  entries.each([&ids](const CronEntry& entry) { ids += entry.id; });
  CHECK(ids == "ab");
  CHECK(entries.count() == 2);
}

}  // namespace millrace
