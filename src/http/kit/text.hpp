#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

/// Small helpers for text. Only ASCII letters have an upper and a lower case.
namespace millrace::http {

[[nodiscard]] char lower(char c);
[[nodiscard]] std::string lower_case(std::string_view text);
[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);
[[nodiscard]] bool contains_ignoring_case(std::string_view text, std::string_view part);
[[nodiscard]] std::string_view trimmed(std::string_view text);
[[nodiscard]] bool is_digit(char c);
[[nodiscard]] bool is_hex_digit(char c);

/// For people: "39,065".
[[nodiscard]] std::string grouped(std::uint64_t number);
/// "1 queue", "2 queues"
[[nodiscard]] std::string count_of(std::uint64_t count, std::string_view what);

/// True for "50%" and "%zz".
[[nodiscard]] bool has_broken_escape(std::string_view address);

/// 16 digits.
[[nodiscard]] std::string hex(std::uint64_t number);

[[nodiscard]] std::string base64(std::string_view bytes);
/// nullopt: that is no base64.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

/// The whole text as a number, or nullopt.
template <typename Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

inline void append_part(std::string_view text, std::string& out) {
  out += text;
}
inline void append_part(std::integral auto number, std::string& out) {
  out += std::to_string(number);
}

/// Texts and whole numbers, one behind the other.
template <typename... Part>
[[nodiscard]] std::string concat(const Part&... parts) {
  std::string out;
  (append_part(parts, out), ...);
  return out;
}

}  // namespace millrace::http
