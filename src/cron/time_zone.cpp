#include "cron/time_zone.hpp"

#include <date/tz.h>

#include <exception>

#include "base/text.hpp"

namespace millrace::cron {

Outcome<TimeZone> TimeZone::find(std::string_view name) {
  if (name == "UTC") return TimeZone{};
  const std::string shown = '"' + one_line(name, 60) + '"';
  try {
    const date::time_zone* const zone = date::locate_zone(name);
    // The library reads a zone's file when it is first used. That shall not be in a turn.
    (void)zone->get_info(date::sys_seconds{});
    return TimeZone(zone);
  } catch (const std::exception&) {
    return Problem{"the system knows no time zone " + shown};
  }
}

std::string TimeZone::name() const {
  return zone_ == nullptr ? "UTC" : zone_->name();
}

TimeZone::Period TimeZone::period_at(std::chrono::seconds utc) const {
  if (zone_ == nullptr) {
    return {.begin = std::chrono::seconds::min(), .end = std::chrono::seconds::max(), .offset = {}};
  }
  const date::sys_info info = zone_->get_info(date::sys_seconds(utc));
  return {.begin = info.begin.time_since_epoch(),
          .end = info.end.time_since_epoch(),
          .offset = info.offset};
}

}  // namespace millrace::cron
