#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::server {

/// How deep a config file may nest. Each part of a header and of a dotted key counts, and each
/// bracket of a value.
inline constexpr std::size_t kTomlDepthMax = 256;

/// The line, from 1, where this TOML is nested deeper than that. toml++ limits the brackets of
/// values only, while it builds and removes a level of tables for each part of a name by recursion.
/// So this is to be asked first. Of what is no TOML, it looks at least as far as toml++ does.
[[nodiscard]] std::optional<std::uint32_t> line_nested_too_deep(std::string_view text);

}  // namespace millrace::server
