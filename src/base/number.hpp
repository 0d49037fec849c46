#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace millrace {

/// The number that the whole text stands for, in decimal, or to the `base` for a whole one.
/// nullopt: the text is something else, has more in it (white space, a plus sign), or the number
/// does not fit into the type.
template <typename Number, std::same_as<int>... Base>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text, Base... base) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base...);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

}  // namespace millrace
