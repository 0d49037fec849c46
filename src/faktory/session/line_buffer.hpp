#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::faktory {

/// Cuts what arrives into lines. A line longer than the limit is not stored: its bytes are dropped
/// as they come, and a line without text takes its place.
class LineBuffer {
 public:
  struct Line {
    std::string_view text;  ///< without LF or CR LF; good until the next `add` or `compact`
    bool is_too_long = false;
  };

  explicit LineBuffer(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  void set_limit(std::size_t line_bytes_max) { line_bytes_max_ = line_bytes_max; }

  void add(std::string_view bytes);

  /// The next whole line; nullopt: it has not arrived. Looks at no byte twice.
  [[nodiscard]] std::optional<Line> next();

  /// Drops the lines that were taken, and the memory when nothing is left.
  void compact();

  /// False: `next` would find nothing.
  [[nodiscard]] bool may_have_line() const {
    return has_dropped_line_ || searched_ < bytes_.size();
  }

  [[nodiscard]] std::size_t kept_bytes() const { return bytes_.size() - taken_; }

 private:
  std::size_t line_bytes_max_;
  std::string bytes_;
  std::size_t taken_ = 0;          ///< everything before it was taken
  std::size_t searched_ = 0;       ///< there is no LF from `taken_` up to here
  bool is_dropping_ = false;       ///< in the middle of a line that is too long
  bool has_dropped_line_ = false;  ///< such a line has ended and was not taken yet
};

}  // namespace millrace::faktory
