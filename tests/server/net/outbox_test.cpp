#include "server/net/outbox.hpp"

#include "base/limits.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

void take(Outbox& outbox, std::string text, Lsn lsn) {
  outbox.take(text, lsn);
}

TEST_CASE("outbox: nothing is covered before its position is durable") {
  Outbox outbox;
  take(outbox, "INSERTED 1\r\n", 100);
  CHECK(outbox.covered(99).empty());
  CHECK(outbox.covered(100) == "INSERTED 1\r\n");
}

TEST_CASE("outbox: all that is covered is one piece, in order") {
  Outbox outbox;
  take(outbox, "a", 10);
  take(outbox, "b", 10);
  take(outbox, "c", 20);
  take(outbox, "d", 30);
  CHECK(outbox.covered(20) == "abc");
  CHECK(outbox.covered(29) == "abc");
  CHECK(outbox.covered(30) == "abcd");
}

TEST_CASE("outbox: continues after what was sent") {
  Outbox outbox;
  take(outbox, "abcdef", 10);
  take(outbox, "ghi", 20);
  outbox.consume(2);
  CHECK(outbox.covered(10) == "cdef");
  outbox.consume(4);
  CHECK(outbox.covered(10).empty());
  CHECK(outbox.size() == 3);
  take(outbox, "j", 30);
  CHECK(outbox.covered(20) == "ghi");
  CHECK(outbox.covered(30) == "ghij");
}

TEST_CASE("outbox: is empty when everything was sent") {
  Outbox outbox;
  CHECK(outbox.is_empty());
  take(outbox, "abc", 1);
  CHECK_FALSE(outbox.is_empty());
  outbox.consume(3);
  CHECK(outbox.is_empty());
  take(outbox, "d", 2);
  CHECK(outbox.covered(2) == "d");
}

TEST_CASE("outbox: takes the session's output away and leaves no great buffer with it") {
  Outbox outbox;
  std::string output(100'000, 'x');
  outbox.take(output, 1);
  CHECK(output.empty());
  output.assign(100'000, 'y');
  outbox.take(output, 2);
  CHECK(output.empty());
  CHECK(output.capacity() <= kIdleBufferBytesMax);
}

TEST_CASE("outbox: no output, nothing to cover") {
  Outbox outbox;
  take(outbox, "", 5);
  CHECK(outbox.is_empty());
  CHECK(outbox.covered(5).empty());
}

}  // namespace
}  // namespace millrace::server
