#include "cron/time_zone.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::cron {

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

}  // namespace millrace::cron
