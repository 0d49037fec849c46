#include "base/buffer.hpp"

#include <limits>

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("buffer: one that is large is freed, one that is small is kept") {
  std::string buffer(1000, 'x');
  const std::size_t room = buffer.capacity();
  reset(buffer, room);
  CHECK(buffer.empty());
  CHECK(buffer.capacity() == room);
  buffer = "short";
  reset(buffer, room - 1);
  CHECK(buffer.empty());
  CHECK(buffer.capacity() < room);
}

TEST_CASE("buffer: memory that is there is given, and the text stays") {
  CHECK(try_allocate(1 << 20) != nullptr);
  std::string buffer = "kept";
  CHECK(try_reserve(buffer, 1 << 20));
  CHECK(buffer == "kept");
  CHECK(buffer.capacity() >= 1 << 20);
  CHECK_FALSE(try_reserve(buffer, std::numeric_limits<std::size_t>::max()));
  CHECK(buffer == "kept");
  CHECK_FALSE(MayLackMemory::is_on());
}

}  // namespace millrace
