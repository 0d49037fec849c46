#include "core/state/batch_reader.hpp"

#include "core/model/codec.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

std::string batch_of(std::size_t records) {
  std::string batch;
  for (std::size_t i = 0; i < records; ++i) {
    encode(JobAdded{.id = i + 1, .queue = "q", .body = "body"}, batch);
  }
  return batch;
}

/// How many came at a time.
std::vector<std::size_t> sizes_of(const std::string& batch) {
  std::vector<std::size_t> sizes;
  for (BatchReader reader(batch); !reader.is_done();) {
    const auto records = reader.next();
    REQUIRE(records);
    sizes.push_back(records->size());
  }
  return sizes;
}

TEST_CASE("batch reader: at most so many at a time") {
  using Sizes = std::vector<std::size_t>;
  constexpr std::size_t kMost = BatchReader::kRecordsMax;
  CHECK(sizes_of("") == Sizes{});
  CHECK(sizes_of(batch_of(1)) == Sizes{1});
  CHECK(sizes_of(batch_of(kMost)) == Sizes{kMost});
  CHECK(sizes_of(batch_of(2 * kMost + 1)) == Sizes{kMost, kMost, 1});
}

TEST_CASE("batch reader: bodies are found where they are") {
  const std::string batch = batch_of(BatchReader::kRecordsMax + 1);
  JobId id = 0;
  for (BatchReader reader(batch); !reader.is_done();) {
    const auto records = reader.next();
    REQUIRE(records);
    for (const Record& record : *records) {
      const auto& added = std::get<JobAdded>(record);
      CHECK(added.id == ++id);
      CHECK(batch.substr(added.body_at, added.body.size()) == "body");
    }
  }
}

TEST_CASE("batch reader: a batch cut at every byte has whole records or a problem") {
  const std::string batch = batch_of(3);
  const std::size_t each = batch.size() / 3;
  for (std::size_t size = 1; size < batch.size(); ++size) {
    CAPTURE(size);
    BatchReader reader(std::string_view(batch).substr(0, size));
    CHECK(reader.next().has_value() == (size % each == 0));
  }
}

}  // namespace
}  // namespace millrace::test
