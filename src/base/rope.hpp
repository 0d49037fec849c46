#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// A long text in pieces. It grows without being copied as a whole, and its memory is the system's
/// again as soon as it is freed: an allocator keeps what was freed for a while, and there may be
/// much of it. Throws std::bad_alloc if there is no memory.
class Rope {
 public:
  void append(std::string_view text);
  void pop_back();

  [[nodiscard]] std::size_t size() const { return size_; }
  /// The last byte. There is one.
  [[nodiscard]] char back() const { return pieces_.back().get()[(size_ - 1) % kPieceBytes]; }

  /// The text in one piece, with room for so many more bytes. Takes long.
  [[nodiscard]] std::string join(std::size_t room = 0) &&;

  /// All pieces but the last are so long.
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

 private:
  struct Unmap {
    void operator()(char* piece) const;
  };
  using Piece = std::unique_ptr<char, Unmap>;

  [[nodiscard]] static Piece map();

  std::vector<Piece> pieces_;  ///< none is empty
  std::size_t size_ = 0;
};

}  // namespace millrace
