#include "journal/file/file_journal_options.hpp"

#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"

namespace millrace::journal {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

}  // namespace

TEST_CASE("journal options: segments are at most a 32nd of the volume, and a MiB at least") {
  const FileJournalOptions options;
  CHECK(fitting_segment_bytes(options, 0) == 64 * kMiB);
  CHECK(fitting_segment_bytes(options, 2048 * kMiB) == 64 * kMiB);
  CHECK(fitting_segment_bytes(options, 1024 * kMiB) == 32 * kMiB);
  CHECK(fitting_segment_bytes(options, 96 * kMiB) == 3 * kMiB);
  CHECK(fitting_segment_bytes(options, 20 * kMiB) == kMiB);
}

TEST_CASE("journal options: shorter segments that were asked for stay as they are") {
  const FileJournalOptions options{.segment_bytes = 2 * kMiB};
  CHECK(fitting_segment_bytes(options, 2048 * kMiB) == 2 * kMiB);
  CHECK(fitting_segment_bytes(options, 96 * kMiB) == 2 * kMiB);
  CHECK(fitting_segment_bytes(options, 32 * kMiB) == kMiB);
}

TEST_CASE("journal options: long jobs make segments longer, up to a 16th of the volume") {
  const FileJournalOptions options{.long_batch_bytes = 10 * kMiB};
  CHECK(fitting_segment_bytes(options, 2048 * kMiB) == 64 * kMiB);
  CHECK(fitting_segment_bytes(options, 256 * kMiB) == 10 * kMiB);
  CHECK(fitting_segment_bytes(options, 96 * kMiB) == 6 * kMiB);
}

TEST_CASE("journal: its segments fit the volume") {
  SimulatedDisk disk;
  disk.volume = 64 * kMiB;
  const auto journal = start(disk, kDirectory, FileJournalOptions{.salt = kSalt});
  CHECK(journal->extent().segment_bytes == 2 * kMiB);
}

TEST_CASE("journal: a volume that is too small for a log is refused, unless it has one") {
  SimulatedDisk disk;
  disk.volume = kVolumeBytesMin - 1;
  CHECK(refusal(disk, kDirectory) ==
        "/journal is on a volume of 8388607 bytes; a journal needs one of 8388608 bytes at least");
  disk.volume = kVolumeBytesMin;
  start(disk, kDirectory);
  disk.volume = kVolumeBytesMin / 2;
  CHECK(refusal(disk, kDirectory).empty());
}

}  // namespace millrace::journal
