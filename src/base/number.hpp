#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace millrace {

/// The number that the whole text stands for, in decimal. nullopt: the text is something else, has
/// more in it (white space, a plus sign), or the number does not fit into the type.
template <typename Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

}  // namespace millrace
