#include "cron/time_zone.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::cron {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year;

seconds day(int of_year, unsigned month, unsigned of_month) {
  return sys_days{year{of_year} / static_cast<int>(month) / static_cast<int>(of_month)}
      .time_since_epoch();
}

ClockPeriod period(std::string_view rule, seconds utc) {
  const auto parsed = ClockRule::parse(rule);
  REQUIRE(parsed);
  return parsed->period_at(utc);
}

}  // namespace

using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year;

TEST_CASE("time zone: UTC needs no file, and has one period") {
  const TimeZone zone = TimeZone::find("UTC").value();
  CHECK(zone.name() == "UTC");
  CHECK(zone.period_at(seconds{0}).offset == seconds{0});
  CHECK(zone.period_at(seconds{0}).end == seconds::max());
}

TEST_CASE("time zone: Berlin is an hour ahead, two in summer") {
  const TimeZone zone = TimeZone::find("Europe/Berlin").value();
  const seconds change = sys_days{year{2027} / 3 / 28}.time_since_epoch() + std::chrono::hours{1};
  CHECK(zone.period_at(change - seconds{1}).offset == hours{1});
  CHECK(zone.period_at(change - seconds{1}).end == change);
  CHECK(zone.period_at(change).offset == hours{2});
  CHECK(zone.period_at(change).begin == change);
}

TEST_CASE("time zone: an unknown name is a problem") {
  for (const char* name : {"Europe/Atlantis", "", "../../etc/passwd", "/etc/localtime", "europe"}) {
    CHECK_FALSE(TimeZone::find(name).has_value());
  }
  CHECK(TimeZone::find("Europe/Atlantis").error().text ==
        "the system knows no time zone \"Europe/Atlantis\"");
}

TEST_CASE("clock rule: Berlin sets its clocks on the last Sundays of March and October") {
  constexpr const char* kBerlin = "CET-1CEST,M3.5.0,M10.5.0/3";
  const ClockPeriod summer = period(kBerlin, day(2040, 7, 1));
  CHECK(summer.begin == day(2040, 3, 25) + hours{1});
  CHECK(summer.end == day(2040, 10, 28) + hours{1});
  CHECK(summer.offset == hours{2});
  const ClockPeriod winter = period(kBerlin, day(2041, 1, 1));
  CHECK(winter.begin == summer.end);
  CHECK(winter.end == day(2041, 3, 31) + hours{1});
  CHECK(winter.offset == hours{1});
  CHECK(period(kBerlin, summer.begin).begin == summer.begin);
  CHECK(period(kBerlin, summer.begin - seconds{1}).end == summer.begin);
}

TEST_CASE("clock rule: summer in the south is around the turn of the year") {
  const ClockPeriod summer = period("AEST-10AEDT,M10.1.0,M4.1.0/3", day(2050, 1, 1));
  CHECK(summer.offset == hours{11});
  CHECK(summer.begin == day(2049, 10, 3) - hours{8});
  CHECK(summer.end == day(2050, 4, 3) - hours{8});
}

TEST_CASE("clock rule: names in brackets, half hours, times before the day") {
  const ClockPeriod lord_howe = period("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", day(2050, 1, 1));
  CHECK(lord_howe.offset == hours{11});
  const ClockPeriod nuuk = period("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", day(2050, 7, 1));
  CHECK(nuuk.offset == -hours{1});
  CHECK(nuuk.begin == day(2050, 3, 27) + hours{1});
}

TEST_CASE("clock rule: what is called summer may be winter") {
  const ClockPeriod winter = period("IST-1GMT0,M10.5.0,M3.5.0/1", day(2050, 1, 1));
  CHECK(winter.offset == hours{0});
  CHECK(winter.end == day(2050, 3, 27) + hours{1});
}

TEST_CASE("clock rule: days of the year, with February 29 and without it") {
  CHECK(period("AAA0BBB,J60/0,J300", day(2048, 7, 1)).begin == day(2048, 3, 1));
  CHECK(period("AAA0BBB,59/0,J300", day(2048, 7, 1)).begin == day(2048, 2, 29));
}

TEST_CASE("clock rule: what is none") {
  for (const char* text :
       {"", "CET-1", "<+03>-3", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J1", "CE-1CEST,J1,J2",
        "CET-1CEST,M3.5.0,M10.5.0/3x", "CET-999CEST,J1,J2", "<CET-1CEST,J1,J2", "CET-1CEST,,"}) {
    CAPTURE(text);
    CHECK_FALSE(ClockRule::parse(text));
  }
}

TEST_CASE("clock rule: zones go on after the tables of their files") {
  const TimeZone berlin = TimeZone::find("Europe/Berlin").value();
  CHECK(berlin.period_at(day(2037, 12, 1)).end == day(2038, 3, 28) + hours{1});
  CHECK(berlin.period_at(day(2038, 7, 1)).offset == hours{2});
  CHECK(berlin.period_at(day(2099, 7, 1)).offset == hours{2});
  CHECK(berlin.period_at(day(2099, 12, 1)).offset == hours{1});
  const TimeZone new_york = TimeZone::find("America/New_York").value();
  CHECK(new_york.period_at(day(2060, 7, 1)).offset == -hours{4});
  CHECK(TimeZone::find("Asia/Tokyo").value().period_at(day(2060, 7, 1)).offset == hours{9});
}

TEST_CASE("clock rule: the rule of a zone says the same as its table, where both do") {
  const TimeZone berlin = TimeZone::find("Europe/Berlin").value();
  const auto rule = ClockRule::parse("CET-1CEST,M3.5.0,M10.5.0/3");
  for (seconds at = day(2000, 1, 1); at < day(2037, 1, 1); at += hours{24 * 20}) {
    const ClockPeriod by_table = berlin.period_at(at);
    const ClockPeriod by_rule = rule->period_at(at);
    CHECK(by_table.begin == by_rule.begin);
    CHECK(by_table.end == by_rule.end);
    CHECK(by_table.offset == by_rule.offset);
  }
}

}  // namespace millrace::cron
