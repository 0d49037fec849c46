#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cron/cron_expression.hpp"
#include "support/doctest.hpp"

namespace millrace::cron {
namespace {

/// Empty: it has no words.
std::string words_of(std::string_view text) {
  return CronExpression::parse(text).value().in_words().value_or(std::string());
}

/// A field that people may write, of values from `min` to `max`.
std::string draw_field(std::mt19937& random, unsigned min, unsigned max) {
  const auto below = [&random](unsigned end) { return static_cast<unsigned>(random() % end); };
  const auto value = [&] { return std::to_string(min + below(max - min + 1)); };
  switch (below(6)) {
    case 0:
    case 1:
      return "*";
    case 2:
      return value();
    case 3:
      return value() + "," + value();
    case 4: {
      const unsigned first = min + below(max - min + 1);
      const unsigned last = first + below(max - first + 1);
      return std::to_string(first) + "-" + std::to_string(last);
    }
    default:
      return "*/" + std::to_string(1 + below(max));
  }
}

/// What it matches from 2027 on, its first 300 times.
std::vector<LocalMinute> matches_of(const CronExpression& expression) {
  LocalMinute from{std::chrono::sys_days{std::chrono::year{2027} / 1 / 1}.time_since_epoch() /
                   std::chrono::minutes{1}};
  std::vector<LocalMinute> found;
  for (int i = 0; i < 300; ++i) {
    const auto match = expression.first_match(from);
    if (!match) break;
    found.push_back(*match);
    from = *match + LocalMinute{1};
  }
  return found;
}

}  // namespace

TEST_CASE("cron words: times of every hour") {
  CHECK(words_of("* * * * *") == "every minute");
  CHECK(words_of("*/5 * * * *") == "every 5 minutes");
  CHECK(words_of("0-59/5 * * * ?") == "every 5 minutes");
  CHECK(words_of("0,30 * * * *") == "every 30 minutes");
  CHECK(words_of("2-59/10 * * * *") == "every 10 minutes from minute 2");
  CHECK(words_of("@hourly") == "every hour");
  CHECK(words_of("15 * * * *") == "every hour at minute 15");
  CHECK(words_of("5,20 * * * *") == "every hour at minutes 5 and 20");
  CHECK(words_of("*/25 * * * *") == "every hour at minutes 0, 25 and 50");
}

TEST_CASE("cron words: a step that does not divide the hour is no interval") {
  CHECK(words_of("*/7 * * * *").empty());
  CHECK(words_of("0 */5 * * *") == "every 5 hours from 00:00 to 20:00");
  CHECK(words_of("*/7 9 * * *").empty());
}

TEST_CASE("cron words: times of a day") {
  CHECK(words_of("30 2 * * *") == "every day at 02:30");
  CHECK(words_of("@daily") == "every day at 00:00");
  CHECK(words_of("0 9,17 * * *") == "every day at 09:00 and 17:00");
  CHECK(words_of("0 0,6,12,18 * * *") == "every day at 00:00, 06:00, 12:00 and 18:00");
  CHECK(words_of("0,30 8,9 * * *") == "every day at 08:00, 08:30, 09:00 and 09:30");
  CHECK(words_of("15 */2 * * *") == "every 2 hours from 00:15");
  CHECK(words_of("15 9-17 * * *") == "every hour from 09:15 to 17:15");
  CHECK(words_of("0 8-18/2 * * *") == "every 2 hours from 08:00 to 18:00");
  CHECK(words_of("*/5 9-17 * * *") == "every 5 minutes from 09:00 to 17:55");
  CHECK(words_of("* 3 * * *") == "every minute from 03:00 to 03:59");
  CHECK(words_of("*/10 9,17 * * *").empty());
  CHECK(words_of("0 0,1,3,7,9,15,20 * * *").empty());
}

TEST_CASE("cron words: weekdays") {
  CHECK(words_of("0 9,17 * * 1-5") == "Monday to Friday at 09:00 and 17:00");
  CHECK(words_of("0 9 * * fri") == "every Friday at 09:00");
  CHECK(words_of("@weekly") == "every Sunday at 00:00");
  CHECK(words_of("0 9 * * 6,7") == "Saturday and Sunday at 09:00");
  CHECK(words_of("0 9 * * fri-sun") == "Friday to Sunday at 09:00");
  CHECK(words_of("0 9 * * 0,1,2") == "Monday, Tuesday and Sunday at 09:00");
  CHECK(words_of("0 9 * * 0-7") == "every day at 09:00");
  CHECK(words_of("*/5 9-17 * * 1-5") == "Monday to Friday, every 5 minutes from 09:00 to 17:55");
}

TEST_CASE("cron words: days of the month, and months") {
  CHECK(words_of("@monthly") == "on the 1st of every month at 00:00");
  CHECK(words_of("0 6 1,15,22 * *") == "on the 1st, 15th and 22nd of every month at 06:00");
  CHECK(words_of("0 6 1-7 * *") == "on the 1st to the 7th of every month at 06:00");
  CHECK(words_of("@yearly") == "on the 1st of January at 00:00");
  CHECK(words_of("0 0 11 1,7 *") == "on the 11th of January and July at 00:00");
  CHECK(words_of("0 0 3 4-9 *") == "on the 3rd of every month from April to September at 00:00");
  CHECK(words_of("0 9 * 7 *") == "every day in July at 09:00");
  CHECK(words_of("0 9 * jan-jun *") == "every day from January to June at 09:00");
  CHECK(words_of("0 9 * 12 1") == "every Monday in December at 09:00");
  CHECK(words_of("0 0 */10 * *") ==
        "on the 1st, 11th, 21st and 31st of every month that has them at 00:00");
}

TEST_CASE("cron words: days that some months do not have are no days of every month") {
  CHECK(words_of("0 0 31 * *") == "on the 31st of every month that has one at 00:00");
  CHECK(words_of("0 0 29 * *") == "on the 29th of every month that has one at 00:00");
  CHECK(words_of("0 0 28 * *") == "on the 28th of every month at 00:00");
  CHECK(words_of("0 0 29 2 *") == "on the 29th of February at 00:00");
  CHECK(words_of("0 0 31 1,4 *").empty());
}

TEST_CASE("cron words: where both day fields name days, a day of either is meant") {
  CHECK(words_of("0 0 13 * 5") == "on the 13th of every month as well as every Friday at 00:00");
  CHECK(words_of("0 0 1-31 * 5") == "every day at 00:00");
  CHECK(words_of("0 0 13 6 5").empty());
  // A step is no star: days 1, 3, 5 and so on, and Mondays.
  CHECK(words_of("0 0 */2 * 1") ==
        CronExpression::parse("0 0 1-31/2 * 1").value().in_words().value_or(std::string()));
}

TEST_CASE("cron words: intervals are said in their largest whole unit") {
  CHECK(words_of("@every 1s") == "every second");
  CHECK(words_of("@every 90s") == "every 90 seconds");
  CHECK(words_of("@every 5m") == "every 5 minutes");
  CHECK(words_of("@every 1h30m") == "every 90 minutes");
  CHECK(words_of("@every 24h") == "every 24 hours");
  CHECK(words_of("@every 3601s") == "every 3601 seconds");
}

TEST_CASE("cron words: expressions of the same words match the same times") {
  std::mt19937 random(7);
  std::map<std::string, std::pair<std::string, std::vector<LocalMinute>>> known;
  int with_words = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = draw_field(random, 0, 59) + " " + draw_field(random, 0, 23) + " " +
                             draw_field(random, 1, 31) + " " + draw_field(random, 1, 12) + " " +
                             draw_field(random, 0, 7);
    const auto expression = CronExpression::parse(text);
    if (!expression) continue;
    const std::optional<std::string> words = expression->in_words();
    if (!words) continue;
    ++with_words;
    const auto found = known.find(*words);
    if (found == known.end()) {
      known[*words] = {text, matches_of(*expression)};
      continue;
    }
    INFO(*words, ": ", text, " and ", found->second.first);
    REQUIRE(matches_of(*expression) == found->second.second);
  }
  CHECK(with_words > 1'000);
}

}  // namespace millrace::cron
