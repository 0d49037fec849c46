/// A journal whose writer has no thread: whoever uses it says when the disk is worked on.

#include "journal/file/log_format.hpp"
#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"
#include "journal/writer/space_watch.hpp"

namespace millrace::journal {
namespace {

FileJournalOptions stepped() {
  FileJournalOptions options = small_segments();
  options.is_stepped = true;
  return options;
}

TEST_CASE("stepped: nothing becomes durable before the step") {
  SimulatedDisk disk;
  const auto journal = start(disk, kDirectory, stepped());
  const Journal::Span span = append(*journal, "batch");
  CHECK(journal->durable() < span.end);
  CHECK(journal->step());
  CHECK(journal->durable() >= span.end);
}

TEST_CASE(
    "stepped: one step writes all that was appended, syncs it once, and wakes those that wait") {
  SimulatedDisk disk;
  const auto journal = start(disk, kDirectory, stepped());
  int wakes = 0;
  journal->on_durable([&] { ++wakes; });
  append(*journal, "one");
  append(*journal, "two");
  const std::uint64_t syncs = disk.sync_count();
  journal->step();
  CHECK(disk.sync_count() == syncs + 1);
  CHECK(wakes == 1);
  journal->on_durable({});
}

TEST_CASE("stepped: a step without work says so") {
  SimulatedDisk disk;
  const auto journal = start(disk, kDirectory, stepped());
  CHECK_FALSE(journal->step());
  append(*journal, "batch");
  CHECK(journal->step());
  CHECK_FALSE(journal->step());
}

TEST_CASE("stepped: sync returns when everything is durable") {
  SimulatedDisk disk;
  const auto journal = start(disk, kDirectory, stepped());
  const Journal::Span span = append(*journal, "batch");
  journal->sync();
  CHECK(journal->durable() >= span.end);
}

TEST_CASE("stepped: what was appended is on the disk when the journal is gone") {
  SimulatedDisk disk;
  append(*start(disk, kDirectory, stepped()), "batch");
  CHECK(replayed_by(disk, kDirectory) == Batches{"batch"});
}

TEST_CASE("stepped: segments are removed in the step after the trim") {
  SimulatedDisk disk;
  const auto journal = start(disk, kDirectory, stepped());
  append(*journal, std::string(400, 'a'));
  const Journal::Span last = append(*journal, std::string(400, 'b'));
  journal->step();
  journal->trim(last.begin);
  CHECK(disk.files().contains(kDirectory + "/" + segment_name(0)));
  CHECK(journal->step());
  CHECK_FALSE(disk.files().contains(kDirectory + "/" + segment_name(0)));
}

TEST_CASE("stepped: what was removed never takes more room than the log had") {
  constexpr std::uint64_t kLargeSegmentBytes = 4 * kFreedBytesMin;
  for (const std::uint64_t batch_bytes :
       {kFreedBytesMin / 16, kFreedBytesMin, kLargeSegmentBytes}) {
    SimulatedDisk disk;
    FileJournalOptions options = small_segments(kLargeSegmentBytes);
    options.is_stepped = true;
    const auto journal = start(disk, kDirectory, options);
    // Everything ends soon: each segment is removed as soon as the next one is begun.
    for (std::uint64_t written = 0; written < 20 * kLargeSegmentBytes; written += batch_bytes) {
      append(*journal, std::string(batch_bytes, 'x'));
      REQUIRE(journal->step());
      journal->trim(journal->extent().newest_begin);
      CHECK(disk.bytes() < 3 * (kLargeSegmentBytes + batch_bytes));
    }
  }
}

TEST_CASE("stepped: after a failure nothing is stored any more") {
  SimulatedDisk disk;
  std::string failure;
  const auto journal = start(disk, kDirectory, surviving(stepped(), failure));
  disk.fail_syncs(true);
  const Journal::Span span = append(*journal, "batch");
  CHECK_FALSE(journal->step());
  CHECK(!failure.empty());
  append(*journal, "another");
  CHECK_FALSE(journal->step());
  CHECK(journal->durable() < span.end);
}

}  // namespace
}  // namespace millrace::journal
