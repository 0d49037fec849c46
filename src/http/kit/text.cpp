#include "http/kit/text.hpp"

#include <cstdio>

#include "base/number.hpp"
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

std::optional<std::int64_t> parse_utc_ms(std::string_view text) {
  using namespace std::chrono;
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";
  const bool is_whole = text.size() == kForm.size() - 4 && text.ends_with('Z');
  const std::string whole =
      concat(text.substr(0, text.size() - (is_whole ? 1 : 0)), is_whole ? ".000Z" : "");
  if (whole.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool is_place = is_digit(kForm[i]);
    if (is_place ? !is_digit(whole[i]) : whole[i] != kForm[i]) return std::nullopt;
  }
  const auto part = [&](std::size_t at, std::size_t size) {
    return parse_number<unsigned>(std::string_view(whole).substr(at, size)).value_or(0);
  };
  const year_month_day date(year(static_cast<int>(part(0, 4))), month(part(5, 2)), day(part(8, 2)));
  if (!date.ok()) return std::nullopt;
  const auto time = sys_days(date) + hours(part(11, 2)) + minutes(part(14, 2)) +
                    seconds(part(17, 2)) + milliseconds(part(20, 3));
  return time.time_since_epoch().count();
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
