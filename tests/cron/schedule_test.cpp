#include "cron/schedule.hpp"

#include <chrono>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/doctest.hpp"

namespace millrace::cron {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year;

/// A moment in UTC.
Time utc(int year_number, unsigned month, unsigned day, int hour = 0, int minute = 0) {
  return Time{sys_days{year{year_number} / month / day}.time_since_epoch() +
              std::chrono::hours{hour} + minutes{minute}};
}

Schedule schedule(std::string_view text, std::string_view zone = {}) {
  return Schedule::parse(text, zone).value();
}

/// The runs after that moment, up to another one.
std::vector<Time> runs(const Schedule& schedule, Time after, Time until) {
  std::vector<Time> found;
  for (Time run = schedule.next_run(after); run <= until; run = schedule.next_run(run)) {
    found.push_back(run);
  }
  return found;
}

std::vector<Time> berlin_runs(std::string_view text, Time after, Time until) {
  return runs(schedule(text, "Europe/Berlin"), after, until);
}

/// The words, and the first runs after 2027 has begun in UTC, as the clocks of the zone show them.
std::string told(std::string_view text, std::string_view zone = {}) {
  const Schedule each = schedule(text, zone);
  std::string said = each.in_words().value_or("?") + ":";
  Time run = utc(2027, 1, 1) - 1s;
  for (int i = 0; i < 3; ++i) {
    run = each.next_run(run);
    const auto at = std::chrono::floor<seconds>(run.time_since_epoch());
    const seconds local = at + each.zone().period_at(at).offset;
    const std::chrono::year_month_day day{sys_days(std::chrono::floor<std::chrono::days>(local))};
    const auto in_day = local % std::chrono::days{1};
    char shown[32];
    std::snprintf(shown, sizeof shown, " %02u-%02u %02d:%02d:%02d",
                  static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()),
                  static_cast<int>(in_day / 1h), static_cast<int>(in_day % 1h / 1min),
                  static_cast<int>(in_day % 1min / 1s));
    said += shown;
  }
  return said;
}

}  // namespace

TEST_CASE("next_run: is after the moment, never at it") {
  const Schedule every_5 = schedule("*/5 * * * *");
  CHECK(every_5.next_run(utc(2027, 1, 1)) == utc(2027, 1, 1, 0, 5));
  CHECK(every_5.next_run(utc(2027, 1, 1) - 1ns) == utc(2027, 1, 1));
  CHECK(every_5.next_run(utc(2027, 1, 1) + 1ns) == utc(2027, 1, 1, 0, 5));
}

TEST_CASE("next_run: fields are UTC unless a zone is named") {
  CHECK(schedule("0 3 * * *").next_run(utc(2027, 1, 1)) == utc(2027, 1, 1, 3));
  CHECK(schedule("0 3 * * *", "Europe/Berlin").next_run(utc(2027, 1, 1)) == utc(2027, 1, 1, 2));
  CHECK(schedule("CRON_TZ=Europe/Berlin 0 3 * * *").next_run(utc(2027, 1, 1)) ==
        utc(2027, 1, 1, 2));
  CHECK(schedule("TZ=Asia/Kolkata 0 3 * * *").next_run(utc(2027, 1, 1)) == utc(2027, 1, 1, 21, 30));
  CHECK(schedule("TZ=Asia/Kolkata @daily").next_run(utc(2027, 1, 1)) == utc(2027, 1, 1, 18, 30));
}

TEST_CASE("schedule: zones that cannot be used are problems") {
  CHECK(Schedule::parse("0 3 * * *", "Europe/Atlantis").error().text ==
        "the system knows no time zone \"Europe/Atlantis\"");
  CHECK(Schedule::parse("TZ=Europe/Berlin 0 3 * * *", "UTC").error().text ==
        "has a time zone, and another one is given besides");
  CHECK(Schedule::parse("CRON_TZ= 0 3 * * *").error().text == "names no time zone after CRON_TZ=");
  CHECK(Schedule::parse("TZ=UTC").error().text == "is empty; five fields are needed");
}

TEST_CASE("next_run: a named hour in the gap runs once, directly after it") {
  CHECK(berlin_runs("30 2 * * *", utc(2027, 3, 27, 12), utc(2027, 3, 29, 12)) ==
        std::vector{utc(2027, 3, 28, 1), utc(2027, 3, 29, 0, 30)});
  // Several minutes of the gap, and the one at its end, are one run.
  CHECK(berlin_runs("*/20 2-3 * * *", utc(2027, 3, 28), utc(2027, 3, 28, 2)) ==
        std::vector{utc(2027, 3, 28, 1), utc(2027, 3, 28, 1, 20), utc(2027, 3, 28, 1, 40)});
}

TEST_CASE("next_run: a named hour that comes twice runs in the first") {
  CHECK(berlin_runs("30 2 * * *", utc(2027, 10, 30, 12), utc(2027, 11, 1, 12)) ==
        std::vector{utc(2027, 10, 31, 0, 30), utc(2027, 11, 1, 1, 30)});
  CHECK(berlin_runs("0,30 2-3 * * *", utc(2027, 10, 30, 12), utc(2027, 10, 31, 12)) ==
        std::vector{utc(2027, 10, 31, 0), utc(2027, 10, 31, 0, 30), utc(2027, 10, 31, 2),
                    utc(2027, 10, 31, 2, 30)});
}

TEST_CASE("next_run: a start between the doubled hours repeats no named hour") {
  CHECK(schedule("30 2 * * *", "Europe/Berlin").next_run(utc(2027, 10, 31, 1, 5)) ==
        utc(2027, 11, 1, 1, 30));
}

TEST_CASE("next_run: every hour is every real hour") {
  CHECK(berlin_runs("15 * * * *", utc(2027, 3, 28), utc(2027, 3, 28, 3)) ==
        std::vector{utc(2027, 3, 28, 0, 15), utc(2027, 3, 28, 1, 15), utc(2027, 3, 28, 2, 15)});
  CHECK(berlin_runs("15 * * * *", utc(2027, 10, 31), utc(2027, 10, 31, 3)) ==
        std::vector{utc(2027, 10, 31, 0, 15), utc(2027, 10, 31, 1, 15), utc(2027, 10, 31, 2, 15)});
  CHECK(
      runs(schedule("*/5 * * * *", "Europe/Berlin"), utc(2027, 10, 30), utc(2027, 11, 1)).size() ==
      48 * 12);
}

TEST_CASE("next_run: a day that a zone skipped runs when the next one begins") {
  // Samoa went from the end of December 29, 2011, to December 31.
  CHECK(schedule("0 12 30 12 *", "Pacific/Apia").next_run(utc(2011, 12, 1)) ==
        utc(2011, 12, 30, 10));
}

TEST_CASE("next_run: midnight may be in the gap") {
  // Cairo's clocks are set forward at midnight, on April 30, 2027.
  CHECK(schedule("0 0 * * *", "Africa/Cairo").next_run(utc(2027, 4, 29, 12)) ==
        utc(2027, 4, 29, 22));
}

TEST_CASE("next_run: @every counts from 1970") {
  const Schedule every = schedule("@every 90s");
  CHECK(every.next_run(utc(2027, 1, 1)) == utc(2027, 1, 1) + 90s);
  CHECK(every.next_run(utc(2027, 1, 1) + 91s) == utc(2027, 1, 1) + 180s);
  CHECK(every.next_run(utc(1970, 1, 1)) == utc(1970, 1, 1) + 90s);
}

TEST_CASE("next_run: there are runs from 1970 to 2199") {
  const Schedule hourly = schedule("@hourly");
  CHECK(hourly.next_run(Time::min()) == utc(1970, 1, 1));
  CHECK(hourly.next_run(utc(2199, 12, 31, 22)) == utc(2199, 12, 31, 23));
  CHECK(hourly.next_run(utc(2199, 12, 31, 23)) == kNever);
  CHECK(schedule("@every 8784h").next_run(utc(2199, 12, 31, 23)) == kNever);
  CHECK(hourly.next_run(kNever) == kNever);
}

TEST_CASE("skip_to_newest: leaves so many of the newest runs") {
  const Schedule every_minute = schedule("* * * * *");
  const Time from = utc(2020, 1, 1);
  const Time until = utc(2027, 1, 1);
  const Time after = every_minute.skip_to_newest(from, until, 1000);
  CHECK(runs(every_minute, after, until).size() == 1000);
  CHECK(every_minute.next_run(after) == until - minutes{999});
}

TEST_CASE("skip_to_newest: leaves all where there are no more") {
  const Schedule hourly = schedule("@hourly");
  CHECK(hourly.skip_to_newest(utc(2027, 1, 1), utc(2027, 1, 1, 5), 5) == utc(2027, 1, 1));
  CHECK(hourly.skip_to_newest(utc(2027, 1, 1), utc(2027, 1, 1, 5), 4) > utc(2027, 1, 1));
  CHECK(hourly.skip_to_newest(utc(2027, 1, 2), utc(2027, 1, 1), 4) == utc(2027, 1, 2));
}

namespace {

/// A field as the set of its values, with a text for it.
struct Field {
  std::set<int> values;
  bool is_any = false;
  std::string text;
};

Field draw_field(std::mt19937& chance, int min, int max) {
  Field field;
  if (chance() % 3 == 0) {
    for (int value = min; value <= max; ++value) field.values.insert(value);
    field.is_any = true;
    field.text = "*";
    return field;
  }
  for (unsigned items = 1 + chance() % 3; items > 0; --items) {
    const int first = min + static_cast<int>(chance() % static_cast<unsigned>(max - min + 1));
    const int last = first + static_cast<int>(chance() % static_cast<unsigned>(max - first + 1));
    const int step = 1 + static_cast<int>(chance() % 4);
    for (int value = first; value <= last; value += step) field.values.insert(value);
    field.text += (field.text.empty() ? "" : ",") + std::to_string(first) + "-" +
                  std::to_string(last) + "/" + std::to_string(step);
  }
  return field;
}

/// An expression, and the plainest way to say what it matches.
struct PlainCron {
  Field minute, hour, day, month, weekday;

  explicit PlainCron(std::mt19937& chance)
      : minute(draw_field(chance, 0, 59)),
        hour(draw_field(chance, 0, 23)),
        day(draw_field(chance, 1, 31)),
        month(draw_field(chance, 1, 12)),
        weekday(draw_field(chance, 0, 6)) {}

  [[nodiscard]] std::string text() const {
    return minute.text + " " + hour.text + " " + day.text + " " + month.text + " " + weekday.text;
  }

  [[nodiscard]] bool matches(seconds local) const {
    const auto days = std::chrono::floor<std::chrono::days>(local);
    const std::chrono::year_month_day date{sys_days{days}};
    const auto in_day = std::chrono::duration_cast<minutes>(local - days).count();
    const bool has_day = day.values.contains(static_cast<int>(unsigned{date.day()}));
    const bool has_weekday = weekday.values.contains(
        static_cast<int>(std::chrono::weekday{sys_days{days}}.c_encoding()));
    const bool is_either = !day.is_any && !weekday.is_any;
    return minute.values.contains(static_cast<int>(in_day % 60)) &&
           hour.values.contains(static_cast<int>(in_day / 60)) &&
           month.values.contains(static_cast<int>(unsigned{date.month()})) &&
           (is_either ? has_day || has_weekday : has_day && has_weekday);
  }

  /// Walks minute by minute, looking at the clocks of the place as a person would.
  [[nodiscard]] std::vector<Time> runs(const TimeZone& zone, Time after, Time until) const {
    std::vector<Time> found;
    seconds shown = seconds::min();
    const seconds begin = std::chrono::floor<seconds>(after.time_since_epoch());
    for (seconds t = begin - std::chrono::days{3}; Time{t} <= until; t += minutes{1}) {
      const seconds local = t + zone.period_at(t).offset;
      bool is_due = false;
      if (hour.values.size() == 24) {
        is_due = matches(local);
      } else if (shown != seconds::min()) {
        for (seconds each = shown + minutes{1}; each <= local; each += minutes{1}) {
          is_due = is_due || matches(each);
        }
      }
      shown = std::max(shown, local);
      if (is_due && Time{t} > after) found.emplace_back(t);
    }
    return found;
  }
};

void compare(std::mt19937& chance, std::string_view zone_name, Time middle) {
  const PlainCron plain(chance);
  CAPTURE(plain.text());
  CAPTURE(zone_name);
  const auto parsed = Schedule::parse(plain.text(), zone_name);
  // Such as February 30.
  if (!parsed) return;
  const Time after = middle - std::chrono::hours{30} - minutes{chance() % 600};
  const Time until = middle + std::chrono::hours{30};
  REQUIRE(runs(*parsed, after, until) == plain.runs(parsed->zone(), after, until));
}

}  // namespace

TEST_CASE("next_run: agrees with a walk minute by minute, where clocks are set") {
  constexpr unsigned kSeed = 20270328;
  std::mt19937 chance(kSeed);
  for (int i = 0; i < 40; ++i) {
    compare(chance, "Europe/Berlin", utc(2027, 3, 28, 1));
    compare(chance, "Europe/Berlin", utc(2027, 10, 31, 1));
    compare(chance, "America/New_York", utc(2027, 11, 7, 6));
    compare(chance, "Australia/Lord_Howe", utc(2027, 4, 3, 15));
    compare(chance, "Australia/Lord_Howe", utc(2027, 10, 2, 15, 30));
    compare(chance, "Africa/Cairo", utc(2027, 4, 29, 22));
    compare(chance, "Pacific/Apia", utc(2011, 12, 30, 10));
    compare(chance, "Asia/Kathmandu", utc(2027, 2, 28, 12));
    compare(chance, {}, utc(2028, 2, 29, 12));
  }
}

TEST_CASE("next_run: agrees with a walk from any second on") {
  constexpr unsigned kSeed = 5;
  std::mt19937 chance(kSeed);
  for (int i = 0; i < 200; ++i) {
    const PlainCron plain(chance);
    const auto parsed = Schedule::parse(plain.text(), "Europe/Berlin");
    if (!parsed) continue;
    CAPTURE(plain.text());
    const Time begin = utc(2027, 10, 30);
    const auto all = plain.runs(parsed->zone(), begin, utc(2027, 11, 1));
    const Time after = begin + seconds{chance() % 172'800} + std::chrono::nanoseconds{chance()};
    Time expected = kNever;
    for (const Time run : all) {
      if (run > after) expected = std::min(expected, run);
    }
    if (expected != kNever) REQUIRE(parsed->next_run(after) == expected);
  }
}

TEST_CASE("words: they say when the next runs are") {
  CHECK(told("30 2 * * *", "Europe/Berlin") ==
        "every day at 02:30, Berlin: 01-01 02:30:00 01-02 02:30:00 01-03 02:30:00");
  CHECK(told("*/5 * * * *", "Europe/Berlin") ==
        "every 5 minutes: 01-01 01:00:00 01-01 01:05:00 01-01 01:10:00");
  CHECK(told("2/20 * * * *") ==
        "every 20 minutes from minute 2, UTC: 01-01 00:02:00 01-01 00:22:00 01-01 00:42:00");
  CHECK(told("0 9,17 * * 1-5", "America/Argentina/Buenos_Aires") ==
        "Monday to Friday at 09:00 and 17:00, Buenos Aires: 01-01 09:00:00 01-01 17:00:00 "
        "01-04 09:00:00");
  CHECK(told("0 */2 * * *") ==
        "every 2 hours from 00:00, UTC: 01-01 00:00:00 01-01 02:00:00 01-01 04:00:00");
  CHECK(told("0 * * * *", "Asia/Kolkata") ==
        "every hour: 01-01 06:00:00 01-01 07:00:00 01-01 08:00:00");
  CHECK(told("0 0 31 * *") ==
        "on the 31st of every month that has one at 00:00, UTC: 01-31 00:00:00 03-31 00:00:00 "
        "05-31 00:00:00");
  CHECK(told("0 0 13 * 5") ==
        "on the 13th of every month as well as every Friday at 00:00, UTC: 01-01 00:00:00 "
        "01-08 00:00:00 01-13 00:00:00");
  CHECK(told("0 6 * 7 mon") ==
        "every Monday in July at 06:00, UTC: 07-05 06:00:00 07-12 06:00:00 07-19 06:00:00");
  CHECK(told("@every 90s") == "every 90 seconds: 01-01 00:00:00 01-01 00:01:30 01-01 00:03:00");
  CHECK(told("*/7 * * * *") == "?: 01-01 00:00:00 01-01 00:07:00 01-01 00:14:00");
}

}  // namespace millrace::cron
