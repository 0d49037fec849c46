#include "cron/time_zone.hpp"

#include <date/tz.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>

#include "base/text.hpp"

namespace millrace::cron {
namespace {

/// The library lets the last period of a table end at the end of its calendar.
constexpr std::chrono::seconds kAfterTables =
    std::chrono::sys_days{std::chrono::year{3000} / 1 / 1}.time_since_epoch();

/// The last line of the zone's file. The library knows zones of this folder only, and their names.
std::optional<ClockRule> read_rule(const std::string& name) {
  std::ifstream file("/usr/share/zoneinfo/" + name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!text.starts_with("TZif") || !text.ends_with('\n')) return std::nullopt;
  const std::size_t begin = text.rfind('\n', text.size() - 2) + 1;
  return ClockRule::parse(std::string_view(text).substr(begin, text.size() - 1 - begin));
}

}  // namespace

Outcome<TimeZone> TimeZone::find(std::string_view name) {
  if (name == "UTC") return TimeZone{};
  const std::string shown = '"' + one_line(name, 60) + '"';
  try {
    const date::time_zone* const zone = date::locate_zone(name);
    // The library reads a zone's file when it is first used. That shall not be in a turn.
    (void)zone->get_info(date::sys_seconds{});
    return TimeZone(zone, read_rule(zone->name()));
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
  Period period{.begin = info.begin.time_since_epoch(),
                .end = info.end.time_since_epoch(),
                .offset = info.offset};
  if (!rule_ || period.end < kAfterTables) return period;
  const Period by_rule = rule_->period_at(utc);
  return {
      .begin = std::max(by_rule.begin, period.begin), .end = by_rule.end, .offset = by_rule.offset};
}

}  // namespace millrace::cron
