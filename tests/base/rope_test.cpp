#include "base/rope.hpp"

#include <string>
#include <utility>

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("rope: is the text that was appended") {
  Rope rope;
  std::string text;
  for (int i = 0; i < 1300; ++i) {
    const std::string part(static_cast<std::size_t>(i * 7), static_cast<char>('a' + i % 26));
    rope.append(part);
    text += part;
  }
  CHECK(text.size() > 4 * Rope::kPieceBytes);
  CHECK(rope.size() == text.size());
  CHECK(rope.back() == text.back());
  CHECK(std::move(rope).join() == text);
}

TEST_CASE("rope: loses its last byte, and is empty once it was joined") {
  Rope rope;
  rope.append(std::string(Rope::kPieceBytes, 'a') + "b");
  rope.pop_back();
  CHECK(rope.back() == 'a');
  rope.append("c");
  CHECK(std::move(rope).join() == std::string(Rope::kPieceBytes, 'a') + "c");
  rope = Rope();
  rope.append("z");
  rope.pop_back();
  CHECK(rope.size() == 0);
  CHECK(std::move(rope).join().empty());
}

}  // namespace millrace
