#include "core/state/features/error_marks.hpp"

#include <string>

#include "core/model/codec.hpp"
#include "support/doctest.hpp"

namespace millrace {
namespace {

ErrorMarked marked(std::uint64_t group, const std::string& note) {
  return {.group = group, .mark = {.note = note, .noted_at = Time{1s}}};
}

/// As the ledger does it, with one record a batch.
void write(ErrorMarks& marks, std::uint64_t group, const std::string& note, Lsn at) {
  marks.apply(marked(group, note));
  marks.place(at);
}

}  // namespace

TEST_CASE("error marks: the log is needed from the oldest mark on") {
  ErrorMarks marks;
  CHECK(marks.oldest_place() == std::nullopt);
  write(marks, 1, "a", 100);
  write(marks, 2, "b", 200);
  CHECK(marks.oldest_place() == 100);
  write(marks, 1, "longer", 300);
  CHECK(marks.oldest_place() == 200);
  CHECK(marks.find(1)->note == "longer");
  CHECK(marks.count() == 2);
}

TEST_CASE("error marks: compaction writes the oldest one again, as it is") {
  ErrorMarks marks;
  write(marks, 1, "a", 100);
  write(marks, 2, "b", 200);
  std::string batch;
  marks.rewrite_oldest(batch);
  CHECK(marks.oldest_place() == 200);
  marks.place(300);
  std::string_view bytes = batch;
  const auto record = decode(bytes);
  REQUIRE(record);
  CHECK(std::get<ErrorMarked>(record.value()) == marked(1, "a"));
}

TEST_CASE("error marks: live bytes are those of all records") {
  ErrorMarks marks;
  write(marks, 1, "a", 100);
  write(marks, 1, "longer", 200);
  write(marks, 2, "b", 300);
  CHECK(marks.live_bytes() == encoded_bytes(marked(1, "longer")) + encoded_bytes(marked(2, "b")));
  for (const std::uint64_t group : {1, 2, 2, 3}) marks.apply(ErrorUnmarked{group});
  CHECK(marks.live_bytes() == 0);
  CHECK(marks.count() == 0);
  CHECK(marks.oldest_place() == std::nullopt);
}

}  // namespace millrace
