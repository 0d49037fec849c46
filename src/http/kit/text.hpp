#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Small helpers for the text of answers.
namespace millrace::http {

/// For people: "39,065".
[[nodiscard]] std::string grouped(std::uint64_t number);
/// "1 queue", "2 queues"
[[nodiscard]] std::string count_of(std::uint64_t count, std::string_view what);

/// As `2026-11-21T00:59:20.184Z`.
[[nodiscard]] std::string utc_text(std::chrono::sys_time<std::chrono::milliseconds> time);

/// The same in the other direction, in milliseconds since 1970. They may be left out:
/// `2026-11-21T00:59:20Z`. nullopt: it is no such time.
[[nodiscard]] std::optional<std::int64_t> parse_utc_ms(std::string_view text);

/// With `%XX` for every byte but letters and digits, for a header or an address.
[[nodiscard]] std::string percent_encoded(std::string_view text);

/// True for "50%" and "%zz".
[[nodiscard]] bool has_broken_escape(std::string_view address);

inline void append_part(std::string_view text, std::string& out) {
  out += text;
}
inline void append_part(std::integral auto number, std::string& out) {
  out += std::to_string(number);
}

/// Texts and whole numbers, one after the other.
template <typename... Part>
[[nodiscard]] std::string concat(const Part&... parts) {
  std::string out;
  (append_part(parts, out), ...);
  return out;
}

}  // namespace millrace::http
