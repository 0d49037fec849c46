/// What a look at a whole log finds where the disk does not give its bytes. What it finds of other
/// damage is tested through `check` and `salvage` in tests/tools/directory.

#include "journal/file/log_survey.hpp"

#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"

namespace millrace::journal {
namespace {

constexpr std::uint64_t kBadBytes = 512;
constexpr std::size_t kBatchBytes = 1000;

/// A log of one segment, with frames of one length.
struct Surveyed {
  Surveyed() {
    for (std::size_t i = 0; i < 20; ++i) {
      batches.push_back(std::string(kBatchBytes, static_cast<char>('a' + i)));
    }
    append_synced(*start(disk, kDirectory, small_segments(64 * 1024)), batches);
  }

  Outcome<Survey> survey(Purpose purpose) {
    found.clear();
    return journal::survey(disk, kDirectory, purpose, [this](std::string_view batch, Lsn) {
      found.emplace_back(batch);
      return Outcome<BatchTaken>(BatchTaken{.records = 1, .fault = {}});
    });
  }

  /// All but those batches.
  [[nodiscard]] Batches without(std::size_t first, std::size_t end) const {
    Batches rest(batches.begin(), batches.begin() + static_cast<std::ptrdiff_t>(first));
    rest.insert(rest.end(), batches.begin() + static_cast<std::ptrdiff_t>(end), batches.end());
    return rest;
  }

  const std::string path = kDirectory + "/" + segment_name(0);
  SimulatedDisk disk;
  Batches batches;
  Batches found;
};

std::uint64_t frame_at(std::size_t n) {
  return kSegmentHeaderBytes + n * frame_bytes(kBatchBytes);
}

std::string damage_of(std::size_t first, std::size_t end, std::uint64_t gap) {
  return segment_name(0) + ", bytes " + std::to_string(frame_at(first)) + " to " +
         std::to_string(frame_at(end)) + ": it cannot be read at offset " + std::to_string(gap) +
         ": Input/output error";
}

}  // namespace

TEST_CASE("survey: a sector that cannot be read costs the frames in its piece, and is named") {
  Surveyed log;
  log.disk.fail_reads(log.path, 2 * kGapBytes, kBadBytes);
  for (const Purpose purpose : {Purpose::kCheck, Purpose::kSalvage}) {
    const auto survey = log.survey(purpose);
    REQUIRE(survey);
    REQUIRE(survey->damages.size() == 1);
    CHECK(text_of(survey->damages.front()) == damage_of(7, 12, 2 * kGapBytes));
    CHECK(log.found == log.without(7, 12));
  }
}

TEST_CASE("survey: a start is refused as the check says") {
  Surveyed log;
  SUBCASE("a segment") {
    log.disk.fail_reads(log.path, 2 * kGapBytes, kBadBytes);
  }
  SUBCASE("its header") {
    log.disk.fail_reads(log.path, 0, kBadBytes);
  }
  SUBCASE("the extent") {
    log.disk.fail_reads(kDirectory + "/extent", 0, kBadBytes);
  }
  const auto survey = log.survey(Purpose::kCheck);
  REQUIRE(survey);
  REQUIRE_FALSE(survey->damages.empty());
  const std::string refused = refusal(log.disk, kDirectory);
  const std::string told = refusal_of(kDirectory, survey->damages.front()).text;
  CHECK(refused.substr(0, refused.find(';')) == told.substr(0, refused.find(';')));
  CHECK(refused.find(": Input/output error; nothing was changed: restore a backup, or copy ") !=
        std::string::npos);
}

TEST_CASE("survey: what cannot be read at the end of the log is no torn tail") {
  Surveyed log;
  log.disk.fail_reads(log.path, 4 * kGapBytes, 64 * 1024);
  for (const Purpose purpose : {Purpose::kCheck, Purpose::kSalvage}) {
    const auto survey = log.survey(purpose);
    REQUIRE(survey);
    REQUIRE(survey->damages.size() == 1);
    CHECK(survey->damages.front().at == frame_at(15));
    CHECK(survey->segments.back().torn_bytes == 0);
    CHECK(log.found == log.without(15, 20));
  }
  CHECK(
      refusal(log.disk, kDirectory).find(" is damaged at offset " + std::to_string(frame_at(15))) !=
      std::string::npos);
}

TEST_CASE("survey: an extent that cannot be read is damage, and all frames are found") {
  Surveyed log;
  log.disk.fail_reads(kDirectory + "/extent", 0, kBadBytes);
  const auto survey = log.survey(Purpose::kSalvage);
  REQUIRE(survey);
  REQUIRE(survey->damages.size() == 1);
  CHECK(text_of(survey->damages.front()) ==
        "extent at offset 0: it cannot be read at offset 0: Input/output error");
  CHECK(log.found == log.batches);
}

}  // namespace millrace::journal
