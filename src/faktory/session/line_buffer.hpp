#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::faktory {

/// Cuts what arrives into lines. A line longer than the limit is not stored: its bytes are dropped
/// as they come, and in its place stands a line without text.
class LineBuffer {
 public:
  struct Line {
    std::string_view text;  ///< without LF or CR LF; good until the next `add` or `compact`
    bool is_too_long = false;
  };

  explicit LineBuffer(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  void set_limit(std::size_t line_bytes_max) { line_bytes_max_ = line_bytes_max; }

  void add(std::string_view bytes);

  /// The next whole line. Looks at no byte twice.
  [[nodiscard]] std::optional<Line> next();

  /// Drops what was taken, and the memory when nothing is left.
  void compact();

  /// False only when `next` would surely find nothing.
  [[nodiscard]] bool may_have_line() const {
    return has_dropped_line_ || searched_ < bytes_.size();
  }

  [[nodiscard]] std::size_t kept_bytes() const { return bytes_.size() - taken_; }

 private:
  std::size_t line_bytes_max_;
  std::string bytes_;
  std::size_t taken_ = 0;          ///< before it, everything was handed out
  std::size_t searched_ = 0;       ///< from `taken_` to it there is no LF
  bool is_dropping_ = false;       ///< in the middle of a line that is too long
  bool has_dropped_line_ = false;  ///< one has ended, and was not handed out yet
};

}  // namespace millrace::faktory
