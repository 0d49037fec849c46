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

Json show_length(std::optional<Duration> duration) {
  return duration ? Json(seconds_of(*duration)) : Json(nullptr);
}

double show_rate(double per_second) {
  return std::round(per_second * 1000) / 1000;
}

}  // namespace millrace::http
