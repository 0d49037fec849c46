#include "http/kit/text.hpp"

#include <cstdio>

#include "base/text.hpp"

namespace millrace::http {
std::string grouped(std::uint64_t number) {
  std::string out = std::to_string(number);
  for (std::size_t left = out.size(); left > 3; left -= 3) out.insert(left - 3, 1, ',');
  return out;
}

std::string count_of(std::uint64_t count, std::string_view what) {
  return concat(grouped(count), " ", what, count == 1 ? "" : "s");
}

std::string utc_text(std::chrono::sys_time<std::chrono::milliseconds> time) {
  const auto midnight = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(midnight);
  const std::chrono::hh_mm_ss clock(time - midnight);
  char text[64];
  std::snprintf(
      text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_letter(c) || is_digit(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte / 16], kDigits[byte % 16]};
  }
  return out;
}

bool has_broken_escape(std::string_view address) {
  for (std::size_t at = address.find('%'); at != address.npos; at = address.find('%', at + 1)) {
    const std::string_view digits = address.substr(at + 1, 2);
    if (digits.size() < 2 || !is_hex_digit(digits[0]) || !is_hex_digit(digits[1])) return true;
  }
  return false;
}

}  // namespace millrace::http
