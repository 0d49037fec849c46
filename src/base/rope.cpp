#include "base/rope.hpp"

#include "base/check.hpp"

namespace millrace {

void Rope::append(std::string_view text) {
  size_ += text.size();
  while (!text.empty()) {
    if (pieces_.empty() || pieces_.back().size() == kPieceBytes) {
      pieces_.emplace_back().reserve(kPieceBytes);
    }
    std::string& last = pieces_.back();
    const std::string_view part = text.substr(0, kPieceBytes - last.size());
    last += part;
    text.remove_prefix(part.size());
  }
}

void Rope::pop_back() {
  CHECK(size_ > 0);
  pieces_.back().pop_back();
  if (pieces_.back().empty()) pieces_.pop_back();
  --size_;
}

std::string Rope::join(std::size_t room) && {
  std::string text;
  text.reserve(size_ + room);
  for (std::string& piece : pieces_) {
    text += piece;
    piece = std::string();  // So both take no more than one text.
  }
  *this = Rope();
  return text;
}

}  // namespace millrace
