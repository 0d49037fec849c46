#include "base/rope.hpp"

#include <algorithm>
#include <utility>

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

std::string_view Rope::piece(std::size_t begin, std::size_t bytes_max) const {
  CHECK(begin <= size_);
  if (begin == size_) return {};
  const std::string_view all = pieces_[first_ + begin / kPieceBytes];
  return all.substr(begin % kPieceBytes, bytes_max);
}

void Rope::copy(std::size_t begin, std::size_t end, std::string& out) const {
  CHECK(begin <= end && end <= size_);
  while (begin < end) {
    const std::string_view part = piece(begin, end - begin);
    out += part;
    begin += part.size();
  }
}

std::string Rope::take_front() {
  if (size_ == 0) return {};
  std::string front = std::exchange(pieces_[first_++], {});
  size_ -= front.size();
  if (size_ == 0) *this = Rope();
  return front;
}

void Rope::shorten(std::size_t size) {
  CHECK(size <= size_);
  while (size_ > size) {
    std::string& last = pieces_.back();
    const std::size_t bytes = std::min(size_ - size, last.size());
    last.resize(last.size() - bytes);
    size_ -= bytes;
    if (last.empty()) pieces_.pop_back();
  }
  if (size_ == 0) *this = Rope();
}

}  // namespace millrace
