#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::faktory {

/// Cuts what arrives into lines. A line longer than its limit is not stored: its bytes are dropped
/// as they come, and a line without text takes its place.
class LineBuffer {
 public:
  struct Line {
    std::string_view text;  ///< without LF or CR LF; good until the next `add` or `compact`
    std::size_t exceeded_bytes_max = 0;  ///< the limit that the line was longer than; 0: none

    [[nodiscard]] bool is_too_long() const { return exceeded_bytes_max != 0; }
  };

  /// How long a line may be that begins so.
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
    return dropped_bytes_max_ != 0 || searched_ < bytes_.size();
  }

  [[nodiscard]] std::size_t kept_bytes() const { return bytes_.size() - taken_; }

 private:
  [[nodiscard]] std::size_t limit_for(std::string_view line) const;

  std::size_t line_bytes_max_;
  std::size_t short_bytes_ = 0;
  LimitOf limit_of_ = nullptr;
  std::string bytes_;
  std::size_t taken_ = 0;               ///< everything before it was taken
  std::size_t searched_ = 0;            ///< there is no LF from `taken_` up to here
  std::size_t dropping_bytes_max_ = 0;  ///< in the middle of a line that is longer; 0: of none
  std::size_t dropped_bytes_max_ = 0;   ///< such a line has ended and was not taken yet
};

}  // namespace millrace::faktory
