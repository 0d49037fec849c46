#include "journal/writer/log_layout.hpp"

#include "journal/file/log_format.hpp"
#include "support/doctest.hpp"

namespace millrace::journal {
namespace {

constexpr std::uint64_t kUsualBytes = 4096;
constexpr std::size_t kFrame = 1024;

/// A layout of an empty log, and who tells it the rooms.
struct EmptyLog {
  SegmentRooms rooms;
  LogLayout layout{kUsualBytes, rooms};
  EmptyLog() { layout.resume({0}, kSegmentHeaderBytes); }
};

}  // namespace

TEST_CASE("layout: frames follow each other until the segment is full") {
  EmptyLog log;
  const LogLayout::Place first = log.layout.place(kFrame);
  CHECK(first.segment == 0);
  CHECK(first.begin == kSegmentHeaderBytes);
  CHECK(first.end == first.begin + kFrame);
  CHECK(log.layout.place(kFrame).begin == first.end);
  const LogLayout::Place third = log.layout.place(kFrame);
  const LogLayout::Place fourth = log.layout.place(kFrame);
  CHECK(fourth.segment == third.end);
  CHECK(fourth.begin == third.end + kSegmentHeaderBytes);
  CHECK(log.layout.segment_count() == 2);
}

TEST_CASE("layout: a segment that is ended gets no more frames, unless it holds nothing") {
  EmptyLog log;
  log.layout.end_segment();
  const LogLayout::Place first = log.layout.place(kFrame);
  CHECK(first.segment == 0);
  log.layout.end_segment();
  CHECK(log.layout.place(kFrame).segment == first.end);
  CHECK(log.layout.place(kFrame).segment == first.end);
}

TEST_CASE("layout: a segment is filled up to its last byte") {
  EmptyLog log;
  (void)log.layout.place(kUsualBytes - kSegmentHeaderBytes - kFrame);
  CHECK(log.layout.place(kFrame).end == kUsualBytes);
  CHECK(log.layout.segment_count() == 1);
}

TEST_CASE("layout: a frame longer than a segment gets one of its own") {
  EmptyLog log;
  CHECK(log.layout.place(3 * kUsualBytes).segment == 0);
  CHECK(log.layout.place(3 * kUsualBytes).segment == kSegmentHeaderBytes + 3 * kUsualBytes);
}

TEST_CASE("layout: a segment holds no more than the writer says") {
  EmptyLog log;
  log.rooms.tell({.first = 0, .bytes = {kSegmentHeaderBytes + kFrame}});
  CHECK(log.layout.place(kFrame).segment == 0);
  CHECK(log.layout.place(kFrame).segment == kSegmentHeaderBytes + kFrame);
}

TEST_CASE("layout: trimming leaves out what ends there, and keeps the newest") {
  EmptyLog log;
  for (int i = 0; i < 3; ++i) (void)log.layout.place(kUsualBytes - kSegmentHeaderBytes);
  CHECK(log.layout.trim(kUsualBytes - 1).empty());
  CHECK(log.layout.trim(kUsualBytes) == std::vector<Lsn>{0});
  CHECK(log.layout.oldest() == kUsualBytes);
  CHECK(log.layout.trim(~Lsn{0}) == std::vector<Lsn>{kUsualBytes});
  CHECK(log.layout.oldest() == 2 * kUsualBytes);
}

TEST_CASE("layout: the extent tells the oldest and the newest segment") {
  EmptyLog log;
  CHECK(log.layout.extent().oldest_end == 0);
  for (int i = 0; i < 3; ++i) (void)log.layout.place(kUsualBytes - kSegmentHeaderBytes);
  const Journal::Extent extent = log.layout.extent();
  CHECK(extent.begin == 0);
  CHECK(extent.oldest_end == kUsualBytes);
  CHECK(extent.newest_begin == 2 * kUsualBytes);
  CHECK(extent.end == 3 * kUsualBytes);
  CHECK(extent.segment_bytes == kUsualBytes);
}

}  // namespace millrace::journal
