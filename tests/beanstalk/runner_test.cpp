#include <stdexcept>
#include <string>

#include "support/doctest.hpp"
#include "support/run_transcripts.hpp"

/// The transcript runner itself: what holds passes, and what does not is found.
namespace millrace::test {
namespace {

std::optional<Mismatch> play(const std::string& text, std::size_t cut = 0) {
  Transcript transcript = parse_transcript(text);
  return play(transcript, *make_in_memory_driver(transcript, Protocol::kBeanstalk), cut);
}

}  // namespace

TEST_CASE("transcript: one that holds has no mismatch") {
  CHECK(!play("> use a\n< USING a\n"));
  CHECK(!play("> use a\n< USING a\n", 1));
}

TEST_CASE("transcript: a wrong line is reported with its place") {
  auto mismatch = play("# wrong\n> use a\n< USING b\n");
  REQUIRE(mismatch);
  CHECK(mismatch->line == 3);
  CHECK(mismatch->expected == "a: USING b");
  CHECK(mismatch->got == "USING a");
}

TEST_CASE("transcript: a missing line is reported") {
  CHECK(play("> reserve\n< TIMED_OUT\n")->got == "nothing complete");
}

TEST_CASE("transcript: a line too many is reported at the end") {
  CHECK(play("> use a\n")->got == "USING a\\r\\n");
  CHECK(play("> use a\n<.\n< USING a\n")->line == 2);
}

TEST_CASE("transcript: an open connection is not a closed one") {
  CHECK(play("> use a\n< USING a\n<!\n")->got == "still open");
  CHECK(!play("> quit\n<!\n"));
}

TEST_CASE("transcript: lines of a body, in order and in any order") {
  CHECK(!play("> list-tubes\n< OK *\n<| ---\n<|~ ^- def\n<+ - default\n<+~ ault$\n"));
  CHECK(!play("> list-tubes\n< OK *\n"));
  CHECK(play("> list-tubes\n< OK *\n<+ - x\n"));
  CHECK(play("> list-tubes\n< OK *\n<| - default\n"));
  CHECK(play("> list-tubes\n< OK *\n<| ---\n")->expected == "a: a body of 1 lines");
}

TEST_CASE("transcript: escapes and repetitions") {
  Transcript transcript = parse_transcript("> a\\r\\n\\t\\0\\\\\\x7e{xy*3}\\\n< \\*\n");
  CHECK(transcript.steps[0].text == std::string{"a\r\n\t\0\\~xyxyxy", 13});
  CHECK(transcript.steps[1].kind == Step::Kind::kExpectLine);
  CHECK(transcript.steps[1].expected.text == "*");
}

TEST_CASE("transcript: JSON needs no escapes for its braces") {
  CHECK(parse_transcript("> {\"a\":\"b*3\"}\n").steps[0].text == "{\"a\":\"b*3\"}\r\n");
}

TEST_CASE("transcript: lines end in LF alone where asked for") {
  CHECK(parse_transcript("! option newline=lf\n> a\n").steps[0].text == "a\n");
}

TEST_CASE("transcript: what is none is refused with its line") {
  CHECK_THROWS_WITH(parse_transcript("\n? x\n"), "line 2: neither >, <, @, ! nor #");
  CHECK_THROWS_AS(parse_transcript("> \\q\n"), std::runtime_error);
  CHECK_THROWS_AS(parse_transcript("@ +5\n"), std::runtime_error);
  CHECK_THROWS_AS(parse_transcript("! jump\n"), std::runtime_error);
  CHECK_THROWS_AS(parse_transcript("<+ x\n"), std::runtime_error);
}

}  // namespace millrace::test
