#include "beanstalk/command.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::beanstalk {
namespace {

using Reason = Refused::Reason;

constexpr std::size_t kJobBytesMax = 20;

/// The command that the whole text is.
template <typename C>
C command(std::string_view text) {
  Parsed parsed = parse_command(text, kJobBytesMax);
  REQUIRE(std::holds_alternative<Command>(parsed.result));
  CHECK(parsed.consumed == text.size());
  REQUIRE(std::holds_alternative<C>(std::get<Command>(parsed.result)));
  return std::get<C>(std::get<Command>(parsed.result));
}

Refused refusal(std::string_view text) {
  Parsed parsed = parse_command(text, kJobBytesMax);
  REQUIRE(std::holds_alternative<Refused>(parsed.result));
  return std::get<Refused>(parsed.result);
}

std::size_t needed(std::string_view text) {
  Parsed parsed = parse_command(text, kJobBytesMax);
  REQUIRE(std::holds_alternative<NeedMore>(parsed.result));
  CHECK(parsed.consumed == 0);
  return std::get<NeedMore>(parsed.result).bytes;
}

}  // namespace

TEST_CASE("parse: put with its body") {
  Put put = command<Put>("put 1 2 3 4\r\nab\r\n\r\n");
  CHECK(put.pri == 1);
  CHECK(put.delay_s == 2);
  CHECK(put.ttr_s == 3);
  CHECK(put.body == "ab\r\n");
}

TEST_CASE("parse: a command takes its own bytes only") {
  CHECK(parse_command("put 0 0 1 1\r\nx\r\nuse a\r\n", kJobBytesMax).consumed == 16);
  CHECK(parse_command("reserve\r\n\r\n", kJobBytesMax).consumed == 9);
}

TEST_CASE("parse: every verb with an id") {
  CHECK(command<Peek>("peek 11\r\n").id == 11);
  CHECK(command<ReserveJob>("reserve-job 12\r\n").id == 12);
  CHECK(command<Delete>("delete 13\r\n").id == 13);
  CHECK(command<Touch>("touch 14\r\n").id == 14);
  CHECK(command<KickJob>("kick-job 15\r\n").id == 15);
  CHECK(command<StatsJob>("stats-job 16\r\n").id == 16);
}

TEST_CASE("parse: every verb with a tube") {
  CHECK(command<Use>("use a\r\n").tube == "a");
  CHECK(command<Watch>("watch b\r\n").tube == "b");
  CHECK(command<Ignore>("ignore c\r\n").tube == "c");
  CHECK(command<StatsTube>("stats-tube d\r\n").tube == "d");
}

TEST_CASE("parse: every verb without arguments") {
  command<PeekReady>("peek-ready\r\n");
  command<PeekDelayed>("peek-delayed\r\n");
  command<PeekBuried>("peek-buried\r\n");
  command<Reserve>("reserve\r\n");
  command<Stats>("stats\r\n");
  command<ListTubes>("list-tubes\r\n");
  command<ListTubeUsed>("list-tube-used\r\n");
  command<ListTubesWatched>("list-tubes-watched\r\n");
  command<Quit>("quit\r\n");
}

TEST_CASE("parse: release, bury, kick, pause-tube, reserve-with-timeout") {
  CHECK(command<Release>("release 1 2 3\r\n").delay_s == 3);
  CHECK(command<Release>("release 1 2 3\r\n").pri == 2);
  CHECK(command<Bury>("bury 1 2\r\n").pri == 2);
  CHECK(command<Kick>("kick 9\r\n").bound == 9);
  CHECK(command<PauseTube>("pause-tube t 60\r\n").tube == "t");
  CHECK(command<PauseTube>("pause-tube t 60\r\n").seconds == 60);
  CHECK(command<ReserveWithTimeout>("reserve-with-timeout 5\r\n").timeout_s == 5);
}

TEST_CASE("parse: an incomplete line needs one byte more") {
  CHECK(needed("") == 1);
  CHECK(needed("reserve") == 8);
  CHECK(needed("reserve\r") == 9);
  CHECK(needed(std::string(223, 'x')) == 224);
}

TEST_CASE("parse: an incomplete body needs all that is missing") {
  CHECK(needed("put 0 0 1 10\r\n") == 26);
  CHECK(needed("put 0 0 1 10\r\n0123456789\r") == 26);
}

TEST_CASE("parse: a line of 224 bytes is taken, a longer one is skipped") {
  CHECK(refusal(std::string(222, 'x') + "\r\n").reason == Reason::kUnknownCommand);
  CHECK(refusal(std::string(223, 'x') + "\r\n").reason == Reason::kLineTooLong);
  CHECK(refusal(std::string(224, 'x')).reason == Reason::kLineTooLong);
}

TEST_CASE("parse: an oversized body is skipped with its line end, and counts") {
  Refused refused = refusal("put 0 0 1 21\r\n");
  CHECK(refused.reason == Reason::kJobTooBig);
  CHECK(refused.skip_bytes == 23);
  CHECK(refused.counts_as == command_index<Put>());
  CHECK(refusal("put 0 0 1 4294967295\r\n").skip_bytes == 4294967297u);
}

TEST_CASE("parse: the size of a body comes before the tail of its line") {
  CHECK(refusal("put 0 0 1 21 junk\r\n").reason == Reason::kJobTooBig);
  CHECK(refusal("put 0 0 1 20 junk\r\n").reason == Reason::kBadFormat);
  CHECK(refusal("put 0 0 1 20 junk\r\n").counts_as == command_index<Put>());
}

TEST_CASE("parse: a bad number does not count") {
  CHECK(refusal("put a 0 1 1\r\n").reason == Reason::kBadFormat);
  CHECK(!refusal("put a 0 1 1\r\n").counts_as);
  CHECK(refusal("pause-tube -a 0\r\n").counts_as == command_index<PauseTube>());
  CHECK(!refusal("pause-tube t x\r\n").counts_as);
}

TEST_CASE("parse: a body without its line end is taken with two bytes more") {
  CHECK(refusal("put 0 0 1 1\r\nabc").reason == Reason::kExpectedCrlf);
  CHECK(parse_command("put 0 0 1 1\r\nabcdef", kJobBytesMax).consumed == 16);
}

TEST_CASE("parse: a NUL comes before the verb") {
  CHECK(refusal(std::string{"foo\0\r\n", 6}).reason == Reason::kBadFormat);
}

TEST_CASE("skip_line: ends after the first CR LF") {
  CHECK(skip_line("abc\r\ndef\r\n").consumed == 5);
  CHECK(skip_line("abc\r\ndef\r\n").is_complete);
}

TEST_CASE("skip_line: a CR at the end stays") {
  CHECK(skip_line("abc\r").consumed == 3);
  CHECK(!skip_line("abc\r").is_complete);
  CHECK(skip_line("abc").consumed == 3);
}

}  // namespace millrace::beanstalk
