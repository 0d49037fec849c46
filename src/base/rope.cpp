#include "base/rope.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/check.hpp"

namespace millrace {

void Rope::Unmap::operator()(char* piece) const {
  // It fails where it would cut a mapping in two and the system's limit of mappings is reached. The
  // memory returns all the same, and the addresses are lost.
  if (::munmap(piece, kPieceBytes) != 0) ::madvise(piece, kPieceBytes, MADV_DONTNEED);
}

Rope::Piece Rope::map() {
  void* const piece =
      ::mmap(nullptr, kPieceBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (piece == MAP_FAILED) throw std::bad_alloc();
  return Piece(static_cast<char*>(piece));
}

void Rope::append(std::string_view text) {
  while (!text.empty()) {
    const std::size_t filled_bytes = size_ % kPieceBytes;
    if (filled_bytes == 0) pieces_.push_back(map());
    const std::string_view part = text.substr(0, kPieceBytes - filled_bytes);
    std::memcpy(pieces_.back().get() + filled_bytes, part.data(), part.size());
    size_ += part.size();
    text.remove_prefix(part.size());
  }
}

void Rope::pop_back() {
  CHECK(size_ > 0);
  --size_;
  if (size_ % kPieceBytes == 0) pieces_.pop_back();
}

std::string Rope::join(std::size_t room) && {
  std::string text;
  text.reserve(size_ + room);
  for (Piece& piece : pieces_) {
    text.append(piece.get(), std::min(kPieceBytes, size_ - text.size()));
    piece.reset();  // So both take no more than one text.
  }
  *this = Rope();
  return text;
}

}  // namespace millrace
