#include "core/model/features/attempt.hpp"

#include "support/doctest.hpp"

namespace millrace {
namespace {

Attempt failed(std::uint32_t number) {
  return {.number = number, .end = AttemptEnd::kFailed, .has_failure = true};
}

Attempt lost(std::uint32_t number, const std::string& wid) {
  return {.number = number, .end = AttemptEnd::kWorkerLost, .wid = wid};
}

Failure failure(const std::string& message, std::vector<std::string> backtrace = {}) {
  return {.errtype = "E", .message = message, .backtrace = std::move(backtrace)};
}

std::size_t text_bytes(const Attempts& attempts) {
  std::size_t bytes = 0;
  for (const Attempt& attempt : attempts.list) {
    bytes += attempt.wid.size() + attempt.hostname.size() + attempt.errtype.size() +
             attempt.message.size();
    for (const std::string& line : attempt.backtrace) bytes += line.size();
  }
  return bytes;
}

/// Each failed with a text of so many bytes and a backtrace.
Attempts of_failures(std::uint32_t count, std::size_t text) {
  Attempts attempts;
  Failure before = failure("");
  for (std::uint32_t number = 1; number <= count; ++number) {
    attempts.add(failed(number), number == 1 ? nullptr : &before);
    before = failure(std::string(text, 'x'), {std::string(100, 'b'), "c"});
  }
  return attempts;
}

}  // namespace

TEST_CASE("attempts: the texts of the last one are those of the failure") {
  Attempts attempts;
  attempts.add(failed(1), nullptr);
  CHECK(attempts.list.front().message.empty());
  const Failure first = failure("first", {"a"});
  attempts.add(failed(2), &first);
  CHECK(attempts.list.front().message == "first");
  CHECK(attempts.list.front().backtrace == std::vector<std::string>{"a"});
  CHECK_FALSE(attempts.list.front().has_failure);
  CHECK(attempts.list.back().message.empty());
  CHECK(attempts.list.back().has_failure);
}

TEST_CASE("attempts: a lost worker leaves the failure where it is") {
  Attempts attempts;
  const Failure first = failure("first");
  attempts.add(failed(1), nullptr);
  attempts.add(lost(2, "w"), &first);
  CHECK(attempts.list.front().message.empty());
  attempts.add(failed(3), &first);
  CHECK(attempts.list.front().message == "first");
  CHECK(attempts.list[1].message.empty());
}

TEST_CASE("attempts: one that is there already changes nothing") {
  Attempts attempts = of_failures(3, 10);
  const Attempts before = attempts;
  const Failure other = failure("other");
  attempts.add(failed(3), &other);
  attempts.add(failed(2), &other);
  CHECK((attempts == before));
}

TEST_CASE("attempts: the last ten are kept") {
  CHECK(of_failures(10, 1).list.size() == 10);
  const Attempts eleven = of_failures(11, 1);
  CHECK(eleven.list.size() == 10);
  CHECK(eleven.list.front().number == 2);
}

TEST_CASE("attempts: of the three last, backtraces are kept") {
  const Attempts attempts = of_failures(5, 10);
  CHECK(attempts.list[1].backtrace.empty());
  CHECK(attempts.list[2].backtrace.size() == 2);
  CHECK(attempts.list[3].backtrace.size() == 2);
}

TEST_CASE("attempts: all texts take 4 KiB at most, and the newest have theirs") {
  const Attempts attempts = of_failures(10, 1000);
  CHECK(text_bytes(attempts) <= Attempts::kTextBytesMax);
  CHECK(attempts.list[8].message.size() == 1000);
  CHECK(attempts.list[0].message.empty());
}

TEST_CASE("attempts: a backtrace has what the messages leave") {
  const Attempts attempts = of_failures(3, 2000);
  CHECK(attempts.list[1].message.size() == 2000);
  CHECK(attempts.list[1].backtrace.empty());
  CHECK(text_bytes(attempts) <= Attempts::kTextBytesMax);
}

TEST_CASE("attempts: no character is cut in two") {
  Attempts attempts;
  std::string text(Attempts::kTextBytesMax - 2, 'x');
  const Failure first = failure(text + "\xe6\x9d\x8e");
  attempts.add(failed(1), nullptr);
  attempts.add(failed(2), &first);
  CHECK(attempts.list.front().message == text);
}

TEST_CASE("attempts: lost workers are counted since the last other end") {
  Attempts attempts;
  attempts.add(lost(1, "a"), nullptr);
  attempts.add(failed(2), nullptr);
  CHECK(attempts.lost_in_a_row() == 0);
  attempts.add(lost(3, "b"), nullptr);
  attempts.add(lost(4, "c"), nullptr);
  CHECK(attempts.lost_in_a_row() == 2);
  CHECK(attempts.was_taken_from("a"));
  CHECK(attempts.was_taken_from("c"));
  CHECK_FALSE(attempts.was_taken_from("d"));
}

TEST_CASE("attempts: one whose worker reported late is no lost worker, and keeps its number") {
  Attempts attempts;
  attempts.add(lost(1, "a"), nullptr);
  attempts.add(lost(2, "b"), nullptr);
  Attempt late = lost(2, "b");
  late.end = AttemptEnd::kEndedLate;
  attempts.add(late, nullptr);
  CHECK(attempts.list.size() == 2);
  CHECK(attempts.list.back().end == AttemptEnd::kEndedLate);
  CHECK(attempts.lost_in_a_row() == 0);
  // As a record that is read twice.
  attempts.add(lost(2, "b"), nullptr);
  CHECK(attempts.list.back().end == AttemptEnd::kEndedLate);
  attempts.add(lost(3, "c"), nullptr);
  CHECK(attempts.lost_in_a_row() == 1);
  CHECK(attempts.was_last_taken_from("c"));
  CHECK_FALSE(attempts.was_last_taken_from("b"));
}

TEST_CASE("attempts: names of 255 bytes are kept, longer ones are cut, and found") {
  Attempts attempts;
  attempts.add(lost(1, std::string(255, 'w')), nullptr);
  CHECK(attempts.list.front().wid.size() == 255);
  attempts.add(lost(2, std::string(256, 'v')), nullptr);
  CHECK(attempts.list.back().wid.size() == 255);
  CHECK(attempts.was_taken_from(std::string(256, 'v')));
}

TEST_CASE("attempts: long messages leave the names of all workers") {
  Attempts attempts;
  attempts.add(lost(1, "a"), nullptr);
  attempts.add(failed(2), nullptr);
  const Failure first = failure(std::string(2 * Attempts::kTextBytesMax, 'x'));
  attempts.add(failed(3), &first);
  CHECK(attempts.list[1].message.size() > 4000);
  CHECK(attempts.was_taken_from("a"));
}

}  // namespace millrace
