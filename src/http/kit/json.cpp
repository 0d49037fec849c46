#include "http/kit/json.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>

namespace millrace::http {

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json show_time(Time steady, WallClock clock) {
  if (steady == Time{} || steady == kNever) return nullptr;
  const Time time = clock.shown(steady);
  const auto days = std::chrono::floor<std::chrono::days>(time.time_since_epoch());
  const std::chrono::year_month_day date{std::chrono::sys_days{days}};
  const std::chrono::hh_mm_ss of_day{
      std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch() - days)};
  char text[64];
  std::snprintf(
      text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(of_day.hours().count()), static_cast<int>(of_day.minutes().count()),
      static_cast<int>(of_day.seconds().count()), static_cast<int>(of_day.subseconds().count()));
  return text;
}

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double show_rate(double per_second) {
  return std::round(per_second * 1000) / 1000;
}

std::string_view cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  // A UTF-8 sequence has at most three bytes after its first. Longer runs are no UTF-8.
  for (std::size_t end = bytes_max; end > 0 && bytes_max - end <= 3; --end) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80) return text.substr(0, end);
  }
  return text.substr(0, bytes_max);
}

}  // namespace millrace::http
