#include "cron/schedule.hpp"

#include <algorithm>
#include <chrono>

#include "base/text.hpp"

namespace millrace::cron {
namespace {

using std::chrono::seconds;

/// Later times would not fit once a zone's offset, or an interval, is added.
constexpr Time kLastTime{std::chrono::sys_days{std::chrono::year{2200} / 1 / 1}.time_since_epoch()};

Time as_time(seconds utc) {
  const Time time{utc};
  return time < kLastTime ? time : kNever;
}

/// Clocks are set back by a day at most.
constexpr seconds kSetBackMax = std::chrono::hours{26};

LocalMinute first_minute_from(seconds local) {
  return std::chrono::ceil<LocalMinute>(local);
}

}  // namespace

Outcome<Schedule> Schedule::parse(std::string_view text, std::string_view zone) {
  text = trimmed(text);
  for (const std::string_view prefix : {"CRON_TZ=", "TZ="}) {
    if (!text.starts_with(prefix)) continue;
    if (!zone.empty()) return Problem{"has a time zone, and another one is given besides"};
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    zone = text.substr(prefix.size(), end - prefix.size());
    text.remove_prefix(end);
    if (zone.empty()) return Problem{"names no time zone after " + std::string(prefix)};
    break;
  }
  auto expression = CronExpression::parse(text);
  if (!expression) return expression.error();
  if (zone.empty()) return Schedule(*expression, TimeZone{});
  auto found = TimeZone::find(zone);
  if (!found) return found.error();
  return Schedule(*expression, *found);
}

Time Schedule::next_run(Time after) const {
  if (after >= kLastTime) return kNever;
  // The first run of all is at the beginning of 1970.
  const seconds whole =
      std::max(std::chrono::floor<seconds>(after.time_since_epoch()), seconds{-1});
  if (const auto interval = expression_.interval()) {
    return as_time((std::chrono::floor<seconds>(whole) / *interval + 1) * *interval);
  }
  return expression_.is_every_hour() ? next_of_every_hour(whole) : next_of_named_hours(whole);
}

/// A run is due when the clocks first show its time, or a later one. So what matters is the latest
/// time that they have shown.
Time Schedule::next_of_named_hours(seconds after) const {
  TimeZone::Period period = zone_.period_at(after);
  seconds shown_before = after + period.offset + seconds{1};
  while (period.begin > after - kSetBackMax) {
    const seconds begin = period.begin;
    period = zone_.period_at(begin - seconds{1});
    shown_before = std::max(shown_before, begin + period.offset);
  }
  const auto minute = expression_.first_match(first_minute_from(shown_before));
  if (!minute) return kNever;
  const seconds local{*minute};
  // The first period that ends after the clocks have shown it. Clocks are set forward by a day at
  // most, so that few periods are looked at.
  period = zone_.period_at(std::max(after, local - kSetBackMax));
  while (period.end <= local - period.offset) period = zone_.period_at(period.end);
  return as_time(std::max(local - period.offset, period.begin));
}

Time Schedule::next_of_every_hour(seconds after) const {
  seconds from = after + seconds{1};
  while (true) {
    const TimeZone::Period period = zone_.period_at(from);
    const auto minute = expression_.first_match(first_minute_from(from + period.offset));
    if (!minute) return kNever;
    const seconds utc = seconds{*minute} - period.offset;
    if (utc < period.end) return as_time(utc);
    from = period.end;
  }
}

std::optional<std::string> Schedule::in_words() const {
  const std::optional<std::string> words = expression_.in_words();
  if (!words || !expression_.has_clock_times()) return words;
  std::string city = zone_.name();
  city.erase(0, city.rfind('/') + 1);
  std::ranges::replace(city, '_', ' ');
  return *words + ", " + city;
}

bool Schedule::has_more_than(std::size_t count, Time from, Time until) const {
  for (std::size_t i = 0; i <= count; ++i) {
    from = next_run(from);
    if (from > until) return false;
  }
  return true;
}

Time Schedule::skip_to_newest(Time from, Time until, std::size_t count) const {
  if (!has_more_than(count, from, until)) return from;
  // Runs are on whole seconds. Too many are after `from`, not after `skipped`.
  Time skipped = until;
  while (skipped - from > seconds{1}) {
    const Time middle = from + (skipped - from) / 2;
    (has_more_than(count, middle, until) ? from : skipped) = middle;
  }
  return skipped;
}

}  // namespace millrace::cron
