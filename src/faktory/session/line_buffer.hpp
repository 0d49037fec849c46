#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/rope.hpp"

namespace millrace::faktory {

/// Cuts what arrives into lines. A line longer than its limit is not stored: its bytes are dropped
/// as they come, and a line without text takes its place.
class LineBuffer {
 public:
  struct Line {
    /// Not null: the line is long, and in this instead. It may be moved away.
    Rope* pieces = nullptr;
    std::string_view text;  ///< without LF or CR LF; good until the next `add` or `compact`
    std::size_t exceeded_bytes_max = 0;  ///< the limit that the line was longer than; 0: none

    [[nodiscard]] bool is_too_long() const { return exceeded_bytes_max != 0; }
  };

  /// How long a line may be that begins so. SIZE_MAX: as long as all lines may.
  using LimitOf = std::size_t (*)(std::string_view beginning);

  explicit LineBuffer(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  /// For all lines, and that of each line that is longer than `short_bytes`.
  void set_limits(std::size_t line_bytes_max, std::size_t short_bytes, LimitOf limit_of) {
    line_bytes_max_ = line_bytes_max;
    short_bytes_ = short_bytes;
    limit_of_ = limit_of;
  }

  void add(std::string_view bytes);

  /// The next whole line; nullopt: it has not arrived. Looks at no byte twice.
  [[nodiscard]] std::optional<Line> next();

  /// Drops the lines that were taken, and the memory when nothing is left.
  void compact();

  /// False: `next` would find nothing.
  [[nodiscard]] bool may_have_line() const {
    return dropped_bytes_max_ != 0 || has_long_line_ || searched_ < bytes_.size();
  }

  [[nodiscard]] std::size_t kept_bytes() const {
    return bytes_.size() - taken_ + long_line_.size();
  }

 private:
  [[nodiscard]] std::size_t limit_for(std::string_view line) const;
  [[nodiscard]] bool is_kept_in_pieces(std::string_view line) const;
  [[nodiscard]] Line take_long_line();
  void drop_long_line_beyond_limit();

  std::size_t line_bytes_max_;
  std::size_t short_bytes_ = 0;
  LimitOf limit_of_ = nullptr;
  std::string bytes_;
  std::size_t taken_ = 0;               ///< everything before it was taken
  std::size_t searched_ = 0;            ///< there is no LF from `taken_` up to here
  std::size_t dropping_bytes_max_ = 0;  ///< in the middle of a line that is longer; 0: of none
  std::size_t dropped_bytes_max_ = 0;   ///< such a line has ended and was not taken yet
  Rope long_line_;                      ///< before everything in `bytes_`
  Rope taken_long_line_;
  bool is_in_long_line_ = false;  ///< it has not ended
  bool has_long_line_ = false;    ///< it has, and was not taken yet
};

/// A line of any length is kept in pieces when it is longer than this.
inline constexpr std::size_t kLongLineBytes = 256 * 1024;

}  // namespace millrace::faktory
