#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/steps.hpp"

namespace millrace::faktory {

/// Finds out whether a whole text is like a pattern, as Redis compares them (which is what a
/// `regexp` of MUTATE means to the reference server):
///
///     *        any bytes, also none        ?        one byte
///     [a-c_]   one of these                [^a-c]   one that is none of these
///     \x       x itself; a lone \ at the end is one
///
/// A class that does not end reaches to the end of the pattern.
///
/// The text is read once and in pieces, each byte in at most `steps_per_byte()` steps: one for
/// every 64 places of the pattern, whatever the text and however many stars. What is between two
/// stars is found where it first fits, since a later place would leave less for what follows.
/// Within it, all places that the text read so far may have reached are moved on together, as bits
/// (Shift-And: Baeza-Yates and Gonnet 1992).
///
///     Glob glob("*uid*");
///     glob.restart();
///     while (!glob.is_decided() && !text.empty()) text.remove_prefix(glob.read(text, steps));
///     if (glob.matches()) ...
class Glob {
 public:
  explicit Glob(std::string_view pattern);

  /// A new text begins.
  void restart();

  /// Reads on, as far as the steps go and until the verdict is clear. Answers how many bytes.
  std::size_t read(std::string_view bytes, Steps& steps);

  /// No further byte would change the verdict.
  [[nodiscard]] bool is_decided() const { return verdict_.has_value(); }

  /// Whether the text is like the pattern, if it ends here.
  [[nodiscard]] bool matches() const;

  [[nodiscard]] std::size_t steps_per_byte() const { return words_ + 1; }

 private:
  /// What stands between two stars: the places [begin, end) of the pattern, each for one byte.
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
  std::size_t segment_ = 0;             ///< the one that is looked for
  bool has_reached_ = false;            ///< any place of it
  std::vector<std::uint64_t> reached_;  ///< the places of it that fit the last bytes read
};

/// A pattern that is like this text only.
[[nodiscard]] std::string glob_of_text(std::string_view text);

}  // namespace millrace::faktory
