#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace millrace::server {

/// One key of a TOML document with its value.
struct Setting {
  enum class Kind {
    kString,
    kPlain,  ///< a whole number, true or false
    kOther,  ///< a list, an empty table, a fraction, a time: nothing that an option takes
  };
  std::vector<std::string> path;  ///< the tables that it is in, and the key
  Kind kind = Kind::kOther;
  std::string text;   ///< the value as a flag would have it; empty for kOther
  std::string place;  ///< `FILE:LINE`

  /// The path with dots.
  [[nodiscard]] std::string name() const;
};

/// Reads the files as one document, which is that of the first with those of the others behind it:
/// so a table must not have its header in two of them. Answers its keys, sorted. What is no TOML is
/// a problem that begins with `FILE:LINE: `.
[[nodiscard]] Outcome<std::vector<Setting>> read_settings(const std::vector<std::string>& files);

/// All files together; more is a mistake.
inline constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;

}  // namespace millrace::server
