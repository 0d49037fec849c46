#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "server/options/toml/toml.hpp"

namespace millrace::server {

/// A TOML value that JSON does not have.
struct NoJson {
  std::string why;
  std::uint32_t line;  ///< of its file
};

/// Appends the TOML value as compact JSON. Whole numbers stay exact, with 64 bits. The members of a
/// table are sorted by name. JSON has no dates and times, and no `inf` and `nan`.
[[nodiscard]] Result<Done, NoJson> append_json(const toml::node& value, std::string& out);

}  // namespace millrace::server
