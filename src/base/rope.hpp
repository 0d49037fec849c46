#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// A long text in pieces. It grows without being copied as a whole.
class Rope {
 public:
  void append(std::string_view text);
  void pop_back();

  [[nodiscard]] std::size_t size() const { return size_; }
  /// The last byte. There is one.
  [[nodiscard]] char back() const { return pieces_.back().back(); }

  /// The text in one piece, with room for so many more bytes. Takes long.
  [[nodiscard]] std::string join(std::size_t room = 0) &&;

  /// All pieces but the last are so long.
  static constexpr std::size_t kPieceBytes = 64 * 1024;

 private:
  std::vector<std::string> pieces_;  ///< none is empty
  std::size_t size_ = 0;
};

}  // namespace millrace
