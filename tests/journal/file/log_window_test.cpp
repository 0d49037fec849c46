/// What is read back from the middle of the log, and what is not.

#include "journal/file/log_window.hpp"

#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"

namespace millrace::journal {
namespace {

constexpr std::uint64_t kWindowSegmentBytes = 64 * 1024;

/// A log of several segments on a disk, with frames of all lengths.
struct Filled {
  Filled() {
    journal = start(disk, kDirectory, small_segments(kWindowSegmentBytes));
    for (std::size_t i = 0; i < 400; ++i) {
      batches.push_back(std::to_string(i) + std::string(i * 37 % 3000, 'x') + "end");
    }
    batches[7] += std::string(100'000, 'l');
    spans = append_synced(*journal, batches);
    REQUIRE(segments_of(disk, kDirectory).size() > 4);
  }

  /// The last bytes of a batch, as the journal reads them.
  Outcome<std::string> read_end(std::size_t batch) {
    return journal->read(spans[batch].end - 3, 3);
  }

  /// Flips a bit of that byte of the log.
  void flip(Lsn at) {
    for (const Lsn first : segments_of(disk, kDirectory)) {
      const std::string path = kDirectory + "/" + segment_name(first);
      if (at >= first && at - first < disk.contents(path).size()) disk.flip(path, at - first, 1);
    }
  }

  SimulatedDisk disk;
  std::unique_ptr<FileJournal> journal;
  Batches batches;
  std::vector<Journal::Span> spans;
};

}  // namespace

TEST_CASE("window: every part of every frame is read, in any order") {
  Filled log;
  for (std::size_t i = 0; i < log.batches.size(); ++i) {
    const std::size_t batch = i * 7 % log.batches.size();
    CAPTURE(batch);
    const Journal::Span span = log.spans[batch];
    REQUIRE(*log.journal->read(span.begin, span.end - span.begin) == log.batches[batch]);
    REQUIRE(*log.read_end(batch) == log.batches[batch].substr(log.batches[batch].size() - 3));
  }
}

TEST_CASE("window: without more descriptors, one of its own is used again") {
  Filled log;
  REQUIRE(log.read_end(0));
  log.disk.limit_open_files(log.disk.open_files());
  for (std::size_t i = 0; i < log.batches.size(); i += 50) REQUIRE(log.read_end(i));
}

TEST_CASE("window: a log that was replayed is read like one that was written") {
  Filled log;
  log.journal.reset();
  log.journal = start(log.disk, kDirectory, small_segments(kWindowSegmentBytes));
  for (std::size_t i = 0; i < log.batches.size(); i += 3) {
    const Journal::Span span = log.spans[i];
    REQUIRE(*log.journal->read(span.begin, span.end - span.begin) == log.batches[i]);
  }
}

TEST_CASE("window: a frame with a flipped bit is not read, wherever it is, and others are") {
  constexpr std::size_t kBatch = 200;
  Filled log;
  const Journal::Span span = log.spans[kBatch];
  SUBCASE("in the bytes that are asked for") {
    log.flip(span.end - 2);
  }
  SUBCASE("elsewhere in the payload") {
    log.flip(span.begin + 1);
  }
  SUBCASE("in the frame's header") {
    log.flip(span.begin - 9);
  }
  const Outcome<std::string> bytes = log.read_end(kBatch);
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().text.find(" is damaged at offset ") != std::string::npos);
  // Those of the same stretch, too.
  for (const std::size_t other : {150, 197, 198, 199, 201, 202, 203, 250}) {
    CAPTURE(other);
    CHECK(log.read_end(other));
  }
}

TEST_CASE("window: with a flipped bit in its header a segment is not read") {
  Filled log;
  const Lsn segment = segments_of(log.disk, kDirectory)[2];
  log.flip(segment + 30);
  std::size_t batch = 0;
  while (log.spans[batch].begin < segment) ++batch;
  const Outcome<std::string> bytes = log.read_end(batch);
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().text.find("the segment header is not whole") != std::string::npos);
}

TEST_CASE("window: what was trimmed, and what is past the end, is not read") {
  Filled log;
  const Lsn second = segments_of(log.disk, kDirectory)[1];
  log.journal->trim(second);
  log.journal->sync();
  CHECK_FALSE(log.journal->read(log.spans[0].begin, 3));
  CHECK_FALSE(log.journal->read(log.spans.back().end + 100, 3));
  CHECK(*log.read_end(log.batches.size() - 1) == "end");
}

}  // namespace millrace::journal
