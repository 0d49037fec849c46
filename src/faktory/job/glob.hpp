#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/steps.hpp"

namespace millrace::faktory {

/// Finds out whether a whole text matches a pattern by the rules of Redis, which is what a `regexp`
/// of MUTATE means to the reference server:
///
///     *        any bytes, also none        ?        one byte
///     [a-c_]   one of these                [^a-c]   one that is none of these
///     \x       x itself; a lone \ at the end is one
///
/// A class without its bracket ends with the pattern.
///
/// The text is read once and in pieces. Each byte takes at most `steps_per_byte()` steps, one for
/// every 64 places of the pattern, whatever the text is and however many stars there are. A segment
/// between two stars is taken where it first fits, since a later place would leave less text for
/// the rest. Within a segment, all places that the text may have reached are moved on together, as
/// bits (Shift-And: Baeza-Yates and Gonnet 1992).
///
///     Glob glob("*uid*");
///     glob.restart();
///     while (!glob.is_decided() && !text.empty()) text.remove_prefix(glob.read(text, steps));
///     if (glob.matches()) ...
class Glob {
 public:
  explicit Glob(std::string_view pattern);

  /// Begins a new text.
  void restart();

  /// Reads on until the steps are spent or the verdict is clear. Answers how many bytes it read.
  std::size_t read(std::string_view bytes, Steps& steps);

  /// True when no further byte can change the verdict.
  [[nodiscard]] bool is_decided() const { return verdict_.has_value(); }

  /// True when the text matches if it ends here.
  [[nodiscard]] bool matches() const;

  [[nodiscard]] std::size_t steps_per_byte() const { return words_ + 1; }

 private:
  /// The part of the pattern between two stars: the places [begin, end), each for one byte.
  struct Segment {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::optional<char> first_byte = {};  ///< the only one that fits its first place
  };

  void add_place(Segment& segment, std::string_view& pattern);
  std::size_t skip(std::string_view bytes, Steps& steps) const;
  void step(char byte);
  void pass_segment();
  [[nodiscard]] bool is_fixed() const { return segment_ == 0 && is_start_fixed_; }
  [[nodiscard]] bool is_last_reached() const;

  bool is_start_fixed_ = false;  ///< no star at the beginning
  bool is_end_fixed_ = false;
  std::vector<Segment> segments_;
  std::size_t words_ = 0;            ///< in a set of places
  std::vector<std::uint64_t> fits_;  ///< for each byte, the places that it fits

  std::optional<bool> verdict_;
  bool is_at_start_ = true;
  std::size_t segment_ = 0;             ///< the one to find next
  bool has_reached_ = false;            ///< the text may have reached a place of it
  std::vector<std::uint64_t> reached_;  ///< the places of it that fit the last bytes read
};

/// A pattern that matches this text only.
[[nodiscard]] std::string glob_of_text(std::string_view text);

}  // namespace millrace::faktory
