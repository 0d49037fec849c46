#include "engines/nats/nats_entry.hpp"

#include <string>
#include <vector>

#include "support/doctest.hpp"

namespace millrace::engines {
namespace {

using Step = NatsEntryAssembler::Step;

NatsEntryHeader entry_header(const std::string& run, journal::Sequence known,
                             std::uint32_t part = 1, std::uint32_t parts = 1) {
  return {run, known, part, parts};
}

}  // namespace

TEST_CASE("NATS entry: a header is read as it was written") {
  const NatsEntryHeader header{"abc-1", 18446744073709551614U, 2, 3};
  CHECK(to_text(header) == "abc-1 18446744073709551614 2/3");
  CHECK(parse_nats_entry_header(to_text(header)) == header);
}

TEST_CASE("NATS entry: other headers are none") {
  for (const char* text : {"", "abc", "abc 1", "abc 1 2", " 1 1/1", "abc x 1/1", "abc 1 0/1",
                           "abc 1 2/1", "abc 1 1/1 ", "abc 18446744073709551615 1/1"}) {
    CHECK_FALSE(parse_nats_entry_header(text).has_value());
  }
}

TEST_CASE("NATS entry: parts are put together") {
  NatsEntryAssembler assembler;
  assembler.begin({1, true, 1});
  CHECK(assembler.add(entry_header("a", 0, 1, 2), "one").step == Step::kMore);
  REQUIRE(assembler.add(entry_header("a", 0, 2, 2), "two").step == Step::kEntry);
  const journal::LogService::Entry entry = assembler.take();
  CHECK(entry.first == 1);
  CHECK(entry.last == 2);
  CHECK(entry.bytes == "onetwo");
}

TEST_CASE("NATS entry: one that another writer cut short does not exist") {
  NatsEntryAssembler assembler;
  assembler.begin({1, true, 1});
  CHECK(assembler.add(entry_header("a", 0, 1, 3), "a1").step == Step::kMore);
  CHECK(assembler.add(entry_header("b", 1), "b").step == Step::kEntry);
  CHECK(assembler.take().bytes == "b");
  CHECK(assembler.add(entry_header("a", 0, 3, 3), "a3").step == Step::kMore);
  CHECK(assembler.add(std::nullopt, "not ours").step == Step::kMore);
  CHECK(assembler.next() == 5);
}

TEST_CASE("NATS entry: what expected a message of its own writer is void after another's") {
  NatsEntryAssembler assembler;
  assembler.begin({11, false, 11});
  CHECK(assembler.add(entry_header("b", 10), "b1").step == Step::kEntry);
  CHECK(assembler.take().bytes == "b1");
  CHECK(assembler.add(entry_header("a", 10), "a2").step == Step::kMore);
  CHECK(assembler.add(entry_header("a", 10), "a3").step == Step::kMore);
  CHECK(assembler.add(entry_header("b", 13), "b2").step == Step::kEntry);
}

TEST_CASE("NATS entry: where the messages before decide, they are looked at") {
  NatsEntryAssembler assembler;
  assembler.begin({12, false, 12});
  const NatsEntryAssembler::Verdict verdict = assembler.add(entry_header("a", 9), "a3");
  CHECK(verdict.step == Step::kLooksBack);
  CHECK(verdict.from == 10);
  assembler.begin({10, false, 12});
  CHECK(assembler.add(entry_header("a", 8), "a1").step == Step::kMore);
  CHECK(assembler.add(entry_header("a", 9), "a2").step == Step::kMore);
  CHECK(assembler.add(entry_header("a", 9), "a3").step == Step::kEntry);
}

TEST_CASE("NATS entry: it takes as many messages as its length needs") {
  CHECK(nats_message_count(0, 10) == 1);
  CHECK(nats_message_count(10, 10) == 1);
  CHECK(nats_message_count(11, 10) == 2);
}

TEST_CASE("NATS entry: an empty message of somebody else is no entry") {
  NatsEntryAssembler assembler;
  assembler.begin({1, true, 1});
  CHECK(assembler.add(entry_header("a", 0), "").step == Step::kMore);
  CHECK(assembler.add(entry_header("b", 1), "b1").step == Step::kEntry);
  CHECK(assembler.take().bytes == "b1");
}

TEST_CASE("NATS entry: the first message of a trimmed log needs nothing before it") {
  NatsEntryAssembler assembler;
  assembler.begin({12, true, 12});
  CHECK(assembler.add(entry_header("a", 9), "a3").step == Step::kEntry);
}

}  // namespace millrace::engines
