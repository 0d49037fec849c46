#include "core/model/entry_head.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace {
namespace {

EntryHead some_head() {
  return {.kind = EntryHead::Kind::kBeat,
          .log = 300,
          .sequence = 5,
          .epoch = 2,
          .at = Time{Duration{-3}},
          .writer = 7,
          .lease_ms = 9,
          .node = "a",
          .notes = "xy"};
}

}  // namespace

TEST_CASE("entry head: what is written is read back, and the batch after it is left") {
  const std::string entry = encode(some_head()) + "batch";
  std::string_view rest = entry;
  const auto head = take_head(rest);
  REQUIRE(head);
  REQUIRE(head->has_value());
  CHECK(**head == some_head());
  CHECK(rest == "batch");
}

TEST_CASE("entry head: its bytes stay as they are") {
  CHECK(encode(some_head()) == std::string("\x07\x02\xac\x02\x05\x02\x05\x07\x09\x01"
                                           "a\x02xy"));
}

TEST_CASE("entry head: a batch without one is left as it is") {
  std::string_view batch = "\x01rest";
  const auto head = take_head(batch);
  REQUIRE(head);
  CHECK_FALSE(head->has_value());
  CHECK(batch == "\x01rest");
}

TEST_CASE("entry head: one that is cut anywhere is damaged") {
  const std::string whole = encode(some_head());
  for (std::size_t size = 1; size < whole.size(); ++size) {
    std::string_view cut = std::string_view(whole).substr(0, size);
    REQUIRE_FALSE(take_head(cut));
  }
}

TEST_CASE("entry head: a kind of a later version is refused") {
  std::string later = encode(some_head());
  later[1] = 9;
  std::string_view bytes = later;
  const auto head = take_head(bytes);
  REQUIRE_FALSE(head);
  CHECK(head.error().text == "an entry of a kind that this version does not know");
}

TEST_CASE("entry head: a text that is too long is refused") {
  EntryHead head = some_head();
  head.notes = std::string(kHeadTextBytesMax + 1, 'x');
  const std::string entry = encode(head);
  std::string_view bytes = entry;
  CHECK_FALSE(take_head(bytes));
}

}  // namespace millrace
