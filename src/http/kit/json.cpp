#include "http/kit/json.hpp"

#include <chrono>
#include <cmath>

#include "http/kit/text.hpp"

namespace millrace::http {

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json show_time(Time steady, WallClock clock) {
  if (steady == Time{} || steady == kNever) return nullptr;
  return utc_text(std::chrono::sys_time<std::chrono::milliseconds>(
      std::chrono::floor<std::chrono::milliseconds>(clock.shown(steady).time_since_epoch())));
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
