#include "cron/cron_expression.hpp"

#include <string>
#include <string_view>

#include "support/doctest.hpp"

namespace millrace::cron {
namespace {

using std::chrono::sys_days;
using std::chrono::year;

/// Minutes since 1970.
LocalMinute at(int year_number, unsigned month, unsigned day, int hour = 0, int minute = 0) {
  return LocalMinute((sys_days{year{year_number} / month / day}.time_since_epoch() +
                      std::chrono::hours{hour} + std::chrono::minutes{minute}) /
                     std::chrono::minutes{1});
}

/// The first match from the beginning of 2027, which is a Friday, on.
LocalMinute first_in_2027(std::string_view text) {
  const auto expression = CronExpression::parse(text);
  REQUIRE(expression);
  return *expression->first_match(at(2027, 1, 1));
}

std::string error_of(std::string_view text) {
  const auto expression = CronExpression::parse(text);
  REQUIRE_FALSE(expression);
  return expression.error().text;
}

bool is_same(std::string_view a, std::string_view b) {
  return CronExpression::parse(a).value() == CronExpression::parse(b).value();
}

}  // namespace

TEST_CASE("cron: */5 matches each fifth minute of the hour") {
  const auto expression = CronExpression::parse("*/5 * * * *");
  CHECK(expression->first_match(at(2027, 1, 1)) == at(2027, 1, 1, 0, 0));
  CHECK(expression->first_match(at(2027, 1, 1, 0, 1)) == at(2027, 1, 1, 0, 5));
  CHECK(expression->first_match(at(2027, 1, 1, 23, 56)) == at(2027, 1, 2));
}

TEST_CASE("cron: fields are minute, hour, day, month, weekday") {
  CHECK(first_in_2027("7 5 3 2 *") == at(2027, 2, 3, 5, 7));
  CHECK(first_in_2027("0 3 * * 1") == at(2027, 1, 4, 3));
  CHECK(first_in_2027(" \t7  5\t3 2 * ") == at(2027, 2, 3, 5, 7));
}

TEST_CASE("cron: lists, ranges and steps") {
  CHECK(is_same("1,3,10-12 * * * *", "1,3,10,11,12 * * * *"));
  CHECK(is_same("10-20/5 * * * *", "10,15,20 * * * *"));
  CHECK(is_same("5/15 * * * *", "5-59/15 * * * *"));
  CHECK(is_same("*/40 * * * *", "0,40 * * * *"));
  CHECK(is_same("0 */6 * * *", "0 0,6,12,18 * * *"));
  CHECK(is_same("0 0 */10 * *", "0 0 1,11,21,31 * *"));
  CHECK(is_same("*/100 * * * *", "0 * * * *"));
}

TEST_CASE("cron: names of months and weekdays, in any case") {
  CHECK(is_same("0 0 1 jan,DEC *", "0 0 1 1,12 *"));
  CHECK(is_same("0 0 * mar-May Mon-fri", "0 0 * 3-5 1-5"));
}

TEST_CASE("cron: a question mark is a star") {
  CHECK(is_same("0 0 ? * 1", "0 0 * * 1"));
  CHECK(is_same("0 0 1 * ?", "0 0 1 * *"));
}

TEST_CASE("cron: 7 is Sunday, and a week may end with it") {
  CHECK(is_same("0 3 * * 7", "0 3 * * 0"));
  CHECK(is_same("0 3 * * 5-7", "0 3 * * 0,5,6"));
  CHECK(is_same("0 3 * * fri-sun", "0 3 * * 0,5,6"));
  CHECK(is_same("0 3 * * sun-mon", "0 3 * * 0,1"));
  CHECK(is_same("0 3 * * */2", "0 3 * * 0,2,4,6"));
  CHECK(first_in_2027("0 3 * * 7") == at(2027, 1, 3, 3));
}

TEST_CASE("cron: where both day fields name days, either is enough") {
  CHECK(first_in_2027("0 0 13 * 1") == at(2027, 1, 4));
  CHECK(first_in_2027("0 0 2 * 1") == at(2027, 1, 2));
  CHECK(first_in_2027("0 0 13 * *") == at(2027, 1, 13));
  CHECK(first_in_2027("0 0 * * 1") == at(2027, 1, 4));
}

TEST_CASE("cron: a step makes a star name days") {
  CHECK(first_in_2027("0 0 */31 2 1") == at(2027, 2, 1));
  CHECK_FALSE(is_same("0 0 */1 * 1", "0 0 */2 * 1"));
  CHECK(is_same("0 0 */1 * 1", "0 0 * * 1"));
}

TEST_CASE("cron: day 31 skips short months") {
  const auto expression = CronExpression::parse("0 0 31 * *");
  CHECK(expression->first_match(at(2027, 1, 31, 0, 1)) == at(2027, 3, 31));
  CHECK(expression->first_match(at(2027, 3, 31, 0, 1)) == at(2027, 5, 31));
}

TEST_CASE("cron: February 29 waits for a leap year, eight years if it must") {
  CHECK(first_in_2027("0 0 29 2 *") == at(2028, 2, 29));
  const auto expression = CronExpression::parse("0 0 29 2 *");
  CHECK(expression->first_match(at(2096, 3, 1)) == at(2104, 2, 29));
}

TEST_CASE("cron: nothing matches after the year 2200") {
  const auto expression = CronExpression::parse("0 0 29 2 *");
  CHECK(expression->first_match(at(2196, 3, 1)) == std::nullopt);
}

TEST_CASE("cron: dates that never come are refused") {
  constexpr std::string_view kNever =
      "no month that it names has such a day, so it would never run";
  CHECK(error_of("0 0 30 2 *") == kNever);
  CHECK(error_of("0 0 31 2,4,6,9,11 *") == kNever);
  // A weekday may come all the same.
  CHECK(first_in_2027("0 0 30 2 mon") == at(2027, 2, 1));
}

TEST_CASE("cron: a bad field is named") {
  CHECK(error_of("*/0 * * * *") ==
        "minute: \"*/0\": the step after the slash must be from 1 to 65535");
  CHECK(error_of("60 * * * *") == "minute: \"60\" is not a number from 0 to 59");
  CHECK(error_of("a * * * *") == "minute: \"a\" is not a number from 0 to 59");
  CHECK(error_of("* 24 * * *") == "hour: \"24\" is not a number from 0 to 23");
  CHECK(error_of("* * 0 * *") == "day of month: \"0\" is not a number from 1 to 31");
  CHECK(error_of("* * * 13 *") == "month: \"13\" is not a name or a number from 1 to 12");
  CHECK(error_of("* * * * 8") == "day of week: \"8\" is not a name or a number from 0 to 7");
  CHECK(error_of("5-1 * * * *") == "minute: \"5-1\" ends before it begins");
}

TEST_CASE("cron: parts that lack something are refused") {
  for (const char* field : {"", ",", "1,", ",1", "1-", "-1", "/5", "*/", "1//2", "1-2-3", "*-5",
                            "+1", "1.5", "*/-1", "* /5", "**", "*/65536", "4294967296"}) {
    CHECK_FALSE(CronExpression::parse(std::string(field) + " * * * *").has_value());
  }
}

TEST_CASE("cron: five fields, no more and no fewer") {
  CHECK(error_of("") == "is empty; five fields are needed");
  CHECK(error_of(" \t ") == "is empty; five fields are needed");
  CHECK(error_of("* * * *") ==
        "has 4 fields; five are needed: minute, hour, day of month, month, day of week");
  CHECK(error_of("0 * * * * *") ==
        "has 6 fields; five are needed: minute, hour, day of month, month, day of week"
        "; for seconds, write @every 30s");
}

TEST_CASE("cron: macros") {
  CHECK(is_same("@yearly", "0 0 1 1 *"));
  CHECK(is_same("@annually", "0 0 1 1 *"));
  CHECK(is_same("@monthly", "0 0 1 * *"));
  CHECK(is_same("@weekly", "0 0 * * 0"));
  CHECK(is_same("@daily", "0 0 * * *"));
  CHECK(is_same("@midnight", "0 0 * * *"));
  CHECK(is_same("@hourly", "0 * * * *"));
  CHECK(CronExpression::parse("@reboot").error().text.find("`millrace push`") != std::string::npos);
  CHECK_FALSE(CronExpression::parse("@hourly 5").has_value());
}

TEST_CASE("cron: @every takes all times that Go has") {
  using namespace std::chrono_literals;
  CHECK(CronExpression::parse("@every 90s")->interval() == 90s);
  CHECK(CronExpression::parse("@every 1h30m5s")->interval() == 1h + 30min + 5s);
  CHECK(CronExpression::parse("@every 8784h")->interval() == CronExpression::kIntervalMax);
  CHECK(CronExpression::parse("@every 1.5h")->interval() == 90min);
  CHECK(CronExpression::parse("@every +.5m")->interval() == 30s);
  CHECK(CronExpression::parse("@hourly")->interval() == std::nullopt);
}

TEST_CASE("cron: @every runs at whole seconds, at most once in each") {
  using namespace std::chrono_literals;
  CHECK(CronExpression::parse("@every 2500ms")->interval() == 2s);
  CHECK(CronExpression::parse("@every 1ns")->interval() == 1s);
  CHECK(CronExpression::parse("@every 2d")->interval() == 48h);
}

TEST_CASE("cron: @every refuses what is no time") {
  for (const char* time : {"", "0s", "5", "5w", "s", "0", "-5s", "8785h", "8784h1s",
                           "99999999999999999999s", "5s 5s"}) {
    CHECK_FALSE(CronExpression::parse("@every " + std::string(time)).has_value());
  }
}

TEST_CASE("cron: only expressions of all hours are of every hour") {
  CHECK(CronExpression::parse("5 * * * *")->is_every_hour());
  CHECK(CronExpression::parse("5 0-23 * * *")->is_every_hour());
  CHECK_FALSE(CronExpression::parse("5 */2 * * *")->is_every_hour());
}

TEST_CASE("cron: text has a limit") {
  std::string text = "0 0 1 1 *";
  text.insert(1, CronExpression::kBytesMax - text.size(), ' ');
  CHECK(CronExpression::parse(text).has_value());
  text.insert(1, 1, ' ');
  CHECK(error_of(text) == "longer than 1024 bytes");
}

}  // namespace millrace::cron
