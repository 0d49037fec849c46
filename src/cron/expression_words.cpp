#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cron/cron_expression.hpp"

/// A cron expression in words. They come from the values that it means, not from its text, so
/// `*/5` and `0-59/5` read alike. What has no short name has none: a long list says no more than
/// the expression.
namespace millrace::cron {
namespace {

using Words = std::optional<std::string>;
using Values = std::vector<unsigned>;

/// A list that is longer is not read.
constexpr std::size_t kListMax = 6;

constexpr const char* kMonths[] = {"",        "January",  "February", "March",  "April",
                                   "May",     "June",     "July",     "August", "September",
                                   "October", "November", "December"};
constexpr const char* kWeekdays[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                     "Friday", "Saturday", "Sunday"};
constexpr unsigned kMonthDays[] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

template <std::size_t kBits>
Values values_of(const std::bitset<kBits>& set, std::size_t from = 0) {
  Values values;
  for (std::size_t value = from; value < kBits; ++value) {
    if (set[value]) values.push_back(static_cast<unsigned>(value));
  }
  return values;
}

/// The distance between neighbours; 0: they differ, or there are less than three values.
unsigned step_of(const Values& values) {
  if (values.size() < 3) return 0;
  const unsigned step = values[1] - values[0];
  for (std::size_t i = 2; i < values.size(); ++i) {
    if (values[i] - values[i - 1] != step) return 0;
  }
  return step;
}

/// The distance between neighbours, the last and the first of the next round of `size` included;
/// 0: they differ.
unsigned cycle_of(const Values& values, unsigned size) {
  const unsigned step = size / static_cast<unsigned>(values.size());
  const bool is_even = values.size() == 1 || values[1] - values[0] == step;
  const bool is_whole = step * values.size() == size;
  const bool is_steady = values.size() < 3 || step_of(values) == step;
  return is_even && is_whole && is_steady ? step : 0;
}

/// "a", "a and b", "a, b and c"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

template <typename Name>
std::string listed(const Values& values, const Name& name) {
  std::vector<std::string> names;
  for (const unsigned value : values) names.push_back(name(value));
  return listed(names);
}

std::string clock(unsigned hour, unsigned minute) {
  char text[8];
  std::snprintf(text, sizeof text, "%02u:%02u", hour, minute);
  return text;
}

/// "1st", "22nd", "13th"
std::string ordinal(unsigned day) {
  const bool is_teen = day / 10 == 1;
  const char* const end = is_teen         ? "th"
                          : day % 10 == 1 ? "st"
                          : day % 10 == 2 ? "nd"
                          : day % 10 == 3 ? "rd"
                                          : "th";
  return std::to_string(day) + end;
}

/// "every minute", "every 5 minutes"
std::string every(std::uint64_t count, const std::string& unit) {
  return count == 1 ? "every " + unit : "every " + std::to_string(count) + " " + unit + "s";
}

// ---- the time of day ----------------------------------------------------------------------------

struct TimeWords {
  std::string text;
  bool is_clock = false;  ///< it begins with "at": what comes before it is a day
};
using MaybeTime = std::optional<TimeWords>;

MaybeTime in_every_hour(const Values& minutes) {
  if (minutes.size() == 1) {
    const bool is_full = minutes[0] == 0;
    return TimeWords{is_full ? "every hour" : "every hour at minute " + std::to_string(minutes[0])};
  }
  if (const unsigned step = cycle_of(minutes, 60); step > 0) {
    const std::string begin = minutes[0] == 0 ? "" : " from minute " + std::to_string(minutes[0]);
    return TimeWords{every(step, "minute") + begin};
  }
  if (minutes.size() > kListMax) return std::nullopt;
  return TimeWords{"every hour at minutes " +
                   listed(minutes, [](unsigned minute) { return std::to_string(minute); })};
}

/// One minute of some hours.
MaybeTime at_hours(const Values& hours, unsigned minute) {
  const auto name = [minute](unsigned hour) { return clock(hour, minute); };
  const unsigned step = step_of(hours);
  const bool is_short = hours.size() <= (step == 1 ? 3 : 4);
  if (is_short || (step == 0 && hours.size() <= kListMax)) {
    return TimeWords{"at " + listed(hours, name), true};
  }
  if (step == 0) return std::nullopt;
  const bool is_all_day = cycle_of(hours, 24) == step;
  return TimeWords{every(step, "hour") + " from " + name(hours.front()) +
                   (is_all_day ? "" : " to " + name(hours.back()))};
}

MaybeTime time_words(const Values& minutes, const Values& hours) {
  if (hours.size() == 24) return in_every_hour(minutes);
  if (minutes.size() == 1) return at_hours(hours, minutes[0]);
  const unsigned step = cycle_of(minutes, 60);
  const bool is_range = hours.size() == 1 || hours.size() == 2 ? hours.back() - hours.front() < 2
                                                               : step_of(hours) == 1;
  const std::size_t count = minutes.size() * hours.size();
  if (count <= kListMax) {
    std::vector<std::string> times;
    for (const unsigned hour : hours) {
      for (const unsigned minute : minutes) times.push_back(clock(hour, minute));
    }
    return TimeWords{"at " + listed(times), true};
  }
  if (step == 0 || !is_range) return std::nullopt;
  return TimeWords{every(step, "minute") + " from " + clock(hours.front(), minutes.front()) +
                   " to " + clock(hours.back(), minutes.back())};
}

// ---- days ---------------------------------------------------------------------------------------

/// Monday is 0 here. Nullopt: all of them.
std::string weekday_words(const std::bitset<7>& weekdays) {
  Values days;
  for (unsigned day = 0; day < 7; ++day) {
    if (weekdays[(day + 1) % 7]) days.push_back(day);
  }
  const auto name = [](unsigned day) { return std::string(kWeekdays[day]); };
  if (days.size() == 1) return "every " + name(days[0]);
  if (step_of(days) == 1) return name(days.front()) + " to " + name(days.back());
  return listed(days, name);
}

/// "on the 1st and 15th"
Words day_words(const Values& days) {
  if (step_of(days) == 1) {
    return "on the " + ordinal(days.front()) + " to the " + ordinal(days.back());
  }
  if (days.size() > kListMax) return std::nullopt;
  return "on the " + listed(days, ordinal);
}

/// The named months: " in January and July", " from April to June"; of a day, " of ...".
Words month_words(const Values& months, const char* before) {
  const auto name = [](unsigned month) { return std::string(kMonths[month]); };
  if (step_of(months) == 1) return " from " + name(months.front()) + " to " + name(months.back());
  if (months.size() > kListMax) return std::nullopt;
  return before + listed(months, name);
}

/// Days of the month in these months.
Words date_words(const Values& days, const Values& months) {
  const Words text = day_words(days);
  if (!text) return std::nullopt;
  const auto has_all = [&](unsigned month) { return days.back() <= kMonthDays[month]; };
  const bool are_there = std::ranges::all_of(months, has_all);
  // February 29 is in some years only.
  const bool is_certain = are_there && (days.back() < 29 || !std::ranges::count(months, 2u));
  const std::string those = days.size() == 1 ? " that has one" : " that has them";
  if (months.size() == 12) return *text + " of every month" + (is_certain ? "" : those);
  const Words named = month_words(months, " of ");
  if (!named) return std::nullopt;
  if (step_of(months) == 1) return *text + " of every month" + *named + (is_certain ? "" : those);
  // "On the 31st of April" would be no day.
  return are_there ? *text + *named : Words();
}

}  // namespace

/// The days on which it runs; empty: every day.
std::optional<std::string> CronExpression::days_in_words() const {
  const Values months = values_of(months_, 1);
  const Values days = values_of(days_, 1);
  const bool is_every_month = months.size() == 12;
  const bool is_either = !is_any_day_ && !is_any_weekday_;
  const bool are_all_days = days.size() == 31;
  // One of two day fields that names all days of its kind names every day.
  const bool is_every_day =
      is_either ? are_all_days || weekdays_.all() : are_all_days && weekdays_.all();
  if (is_every_day) {
    if (is_every_month) return std::string();
    const Words named = month_words(months, " in ");
    return named ? "every day" + *named : Words();
  }
  if (is_either) {
    if (!is_every_month) return std::nullopt;
    const Words dates = date_words(days, months);
    return dates ? *dates + " as well as " + weekday_words(weekdays_) : Words();
  }
  if (!are_all_days) return date_words(days, months);
  if (is_every_month) return weekday_words(weekdays_);
  const Words named = month_words(months, " in ");
  return named ? weekday_words(weekdays_) + *named : Words();
}

std::optional<std::string> CronExpression::in_words() const {
  if (interval_) {
    const auto seconds = static_cast<std::uint64_t>(interval_->count());
    if (seconds % 3600 == 0) return every(seconds / 3600, "hour");
    if (seconds % 60 == 0) return every(seconds / 60, "minute");
    return every(seconds, "second");
  }
  const std::optional<std::string> days = days_in_words();
  const MaybeTime time = time_words(values_of(minutes_), values_of(hours_));
  if (!days || !time) return std::nullopt;
  if (time->is_clock) return (days->empty() ? "every day" : *days) + " " + time->text;
  return days->empty() ? time->text : *days + ", " + time->text;
}

bool CronExpression::has_clock_times() const {
  if (interval_) return false;
  const bool is_every_day = days_in_words() == std::string();
  return !hours_.all() || !is_every_day || !minutes_[0] || cycle_of(values_of(minutes_), 60) == 0;
}

}  // namespace millrace::cron
