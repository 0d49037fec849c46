#include "base/buffer.hpp"

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

}  // namespace millrace
