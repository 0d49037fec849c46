#include "cli/value_hint.hpp"

#include <array>
#include <string>

#include "support/doctest.hpp"

namespace millrace::cli {
namespace {

constexpr std::array<std::string_view, 5> kWords = {"stats", "queues", "push", "pause", "ls"};

}  // namespace

TEST_CASE("nearest word: a letter that is missing, wrong or too much, or two that changed places") {
  CHECK(nearest_word("stat", kWords) == "stats");
  CHECK(nearest_word("qoeues", kWords) == "queues");
  CHECK(nearest_word("qeues", kWords) == "queues");
  CHECK(nearest_word("psuh", kWords) == "push");
  CHECK(nearest_word("pauuse", kWords) == "pause");
  CHECK(nearest_word("lss", kWords) == "ls");
}

TEST_CASE("nearest word: what is not near means nothing") {
  for (const char* far : {"", "l", "ps", "bogus", "st", "put", "queue-of-jobs"}) {
    CAPTURE(far);
    CHECK(nearest_word(far, kWords).empty());
  }
  CHECK(nearest_word(std::string(1'000'000, 'q'), kWords).empty());
}

TEST_CASE("must be: the words of other servers for states are known") {
  CHECK(must_be(kStateWords, "buried") ==
        "must be scheduled, ready, reserved, retrying or dead; did you mean dead?");
  CHECK(must_be(kStateWords, "delayed").ends_with("; did you mean scheduled?"));
  CHECK(must_be(kStateWords, "redy").ends_with("; did you mean ready?"));
  CHECK(must_be(kStateWords, "lost").ends_with(" or dead"));
  // A name is suggested where it is one of the words.
  CHECK(must_be(kOutcomeWords, "buried").ends_with(" or expired"));
}

}  // namespace millrace::cli
