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
    kEmptyTable,
    kOther,  ///< a list, a fraction or a time, which no option accepts
  };
  std::vector<std::string> path;  ///< the tables around it, outermost first, and the key
  Kind kind = Kind::kOther;
  std::string text;   ///< the value as it would be written for a flag; empty for the last two
  std::string place;  ///< `FILE:LINE`

  /// The path with dots.
  [[nodiscard]] std::string name() const;
};

/// Reads the files as one document, concatenated in this order: so the header of a table may be in
/// one of them only. Returns the keys, sorted. Invalid TOML is a problem that begins with
/// `FILE:LINE: `.
[[nodiscard]] Outcome<std::vector<Setting>> read_settings(const std::vector<std::string>& files);

/// The text of one file, without a byte order mark.
[[nodiscard]] Outcome<std::string> read_config_text(const std::string& file);
[[nodiscard]] Problem config_too_long(const std::string& file);

/// The paths of the `*.toml` in the folder, in alphabetical order. None where there is no folder.
[[nodiscard]] Outcome<std::vector<std::string>> toml_files(const std::string& folder);

/// Limit for all files together.
inline constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;

}  // namespace millrace::server
