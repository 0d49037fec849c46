#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/rope.hpp"

namespace millrace::faktory {

/// A line of ACK, FAIL, BEAT or TRACK SET that is longer is dropped. It is far more than any client
/// has to say.
inline constexpr std::size_t kReportBytesMax = 64 * 1024 * 1024;

/// Cuts what arrives into lines. A line longer than its limit is not stored: its bytes are dropped
/// as they come, and a line without text takes its place.
class LineBuffer {
 public:
  struct Line {
    /// Not null: the line is long, and in this instead. It may be moved away.
    Rope* pieces = nullptr;
    std::string_view text;  ///< without LF or CR LF; good until the next `add` or `compact`
    std::size_t exceeded_bytes_max = 0;  ///< the limit that the line was longer than; 0: none
    bool is_endless = false;  ///< and by more than `kDroppedBytesMax`: it has not ended yet

    [[nodiscard]] bool is_too_long() const { return exceeded_bytes_max != 0; }
  };

  struct Limit {
    std::size_t bytes_max;   ///< SIZE_MAX: as long as all lines may
    bool is_report = false;  ///< that of all lines does not count
  };
  /// How long a line may be that begins so.
  using LimitOf = Limit (*)(std::string_view beginning);

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
    return dropped_bytes_max_ != 0 || has_long_line_ || searched_ < bytes_.size() || is_endless();
  }

  /// How many bytes were added up to the end of the last line that `next` has found, if it was no
  /// long one.
  [[nodiscard]] std::uint64_t position() const { return added_bytes_ - (bytes_.size() - taken_); }

  [[nodiscard]] std::size_t kept_bytes() const {
    return bytes_.size() - taken_ + long_line_.size();
  }

 private:
  [[nodiscard]] Limit limit_for(std::string_view line) const;
  [[nodiscard]] std::size_t bytes_max_by(const Limit& limit) const;
  [[nodiscard]] bool begin_long_line(std::string_view line, const Limit& limit);
  [[nodiscard]] Line take_long_line();
  void drop_long_line_beyond_limit();
  [[nodiscard]] bool is_endless() const;

  std::size_t line_bytes_max_;
  std::size_t short_bytes_ = 0;
  LimitOf limit_of_ = nullptr;
  std::string bytes_;
  std::uint64_t added_bytes_ = 0;
  std::size_t taken_ = 0;               ///< everything before it was taken
  std::size_t searched_ = 0;            ///< there is no LF from `taken_` up to here
  std::size_t dropping_bytes_max_ = 0;  ///< in the middle of a line that is longer; 0: of none
  std::size_t dropping_bytes_ = 0;      ///< so much of it was dropped
  std::size_t dropped_bytes_max_ = 0;   ///< such a line has ended and was not taken yet
  Rope long_line_;                      ///< before everything in `bytes_`
  std::size_t long_line_bytes_max_ = 0;
  Rope taken_long_line_;
  bool is_in_long_line_ = false;  ///< it has not ended
  bool has_long_line_ = false;    ///< it has, and was not taken yet
};

/// A line of any length is kept in pieces when it is longer than this.
inline constexpr std::size_t kLongLineBytes = 256 * 1024;

/// A client that sends so much of a line beyond its limit has no end in mind.
inline constexpr std::size_t kDroppedBytesMax = 64 * 1024 * 1024;

}  // namespace millrace::faktory
