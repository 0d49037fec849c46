#include "base/rope.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace {
namespace {

std::string text_of(const Rope& rope, std::size_t begin, std::size_t end) {
  std::string text;
  rope.copy(begin, end, text);
  return text;
}

}  // namespace

TEST_CASE("rope: is the text that was appended") {
  Rope rope;
  std::string text;
  for (int i = 0; i < 300; ++i) {
    const std::string part(static_cast<std::size_t>(i * 7), static_cast<char>('a' + i % 26));
    rope.append(part);
    text += part;
  }
  CHECK(rope.size() == text.size());
  CHECK(text.size() > 4 * Rope::kPieceBytes);
  CHECK(text_of(rope, 0, text.size()) == text);
  CHECK(text_of(rope, 65'000, 140'000) == text.substr(65'000, 75'000));
  CHECK(rope.piece(Rope::kPieceBytes - 1, 10) == text.substr(Rope::kPieceBytes - 1, 1));
  CHECK(rope.piece(rope.size(), 10).empty());
}

TEST_CASE("rope: goes away from both ends") {
  Rope rope;
  rope.append(std::string(Rope::kPieceBytes + 10, 'a') + "bcd");
  rope.shorten(rope.size() - 1);
  CHECK(rope.take_front() == std::string(Rope::kPieceBytes, 'a'));
  CHECK(text_of(rope, 0, rope.size()) == "aaaaaaaaaabc");
  rope.append("e");
  CHECK(rope.take_front() == "aaaaaaaaaabce");
  CHECK(rope.take_front().empty());
  CHECK(rope.size() == 0);
  rope.append(std::string(Rope::kPieceBytes, 'x') + "y");
  CHECK(rope.take_front().size() == Rope::kPieceBytes);
  rope.shorten(0);
  CHECK(rope.size() == 0);
  rope.append("z");
  CHECK(text_of(rope, 0, 1) == "z");
}

}  // namespace millrace
