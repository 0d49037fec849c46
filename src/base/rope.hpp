#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// A long text in pieces. It grows and goes away without ever being copied or freed as a whole.
class Rope {
 public:
  void append(std::string_view text);

  [[nodiscard]] std::size_t size() const { return size_; }

  /// What is there from `begin` on in one piece: at most `bytes_max`, and something unless `begin`
  /// is the end.
  [[nodiscard]] std::string_view piece(std::size_t begin, std::size_t bytes_max) const;

  /// Appends the bytes from `begin` to `end` to `out`.
  void copy(std::size_t begin, std::size_t end, std::string& out) const;

  /// Takes the first piece off; the rest then begins at 0. Empty: nothing is left.
  [[nodiscard]] std::string take_front();

  /// Drops all but the first `size` bytes.
  void shorten(std::size_t size);

  /// All pieces but the last are so long.
  static constexpr std::size_t kPieceBytes = 64 * 1024;

 private:
  std::vector<std::string> pieces_;  ///< an empty one needs no memory, unlike a deque
  std::size_t first_ = 0;            ///< those before it were taken
  std::size_t size_ = 0;
};

}  // namespace millrace
