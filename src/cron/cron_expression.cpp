#include "cron/cron_expression.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/duration.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace::cron {
namespace {

constexpr int kYearMax = 2200;

constexpr std::string_view kMonthNames[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                            "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kWeekdayNames[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

/// What one of the five fields may hold. The first name stands for the smallest value.
struct FieldKind {
  std::string_view name;
  unsigned min;
  unsigned max;
  std::span<const std::string_view> value_names;
};

constexpr FieldKind kMinute{"minute", 0, 59, {}};
constexpr FieldKind kHour{"hour", 0, 23, {}};
constexpr FieldKind kDay{"day of month", 1, 31, {}};
constexpr FieldKind kMonth{"month", 1, 12, kMonthNames};
constexpr FieldKind kWeekday{"day of week", 0, 7, kWeekdayNames};

/// Values of a field, and whether it says `*`.
struct FieldValues {
  std::uint64_t bits = 0;
  bool is_any = false;
};

template <std::size_t kBits>
std::bitset<kBits> as_set(const FieldValues& field) {
  return std::bitset<kBits>(field.bits);
}

std::string quoted(std::string_view text) {
  return '"' + one_line(text, 40) + '"';
}

Problem problem(const FieldKind& kind, const std::string& why) {
  return Problem{std::string(kind.name) + ": " + why};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != std::string_view::npos; text.remove_prefix(end + 1)) {
    end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
  }
  return parts;
}

std::vector<std::string_view> words(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return found;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

Outcome<unsigned> parse_value(const FieldKind& kind, std::string_view text) {
  for (std::size_t i = 0; i < kind.value_names.size(); ++i) {
    if (equals_ignoring_case(kind.value_names[i], text)) {
      return kind.min + static_cast<unsigned>(i);
    }
  }
  const auto number = parse_number<unsigned>(text);
  if (!number || *number < kind.min || *number > kind.max) {
    return problem(kind, quoted(text) + " is not " +
                             (kind.value_names.empty() ? "a number" : "a name or a number") +
                             " from " + std::to_string(kind.min) + " to " +
                             std::to_string(kind.max));
  }
  return *number;
}

struct Range {
  unsigned first;
  unsigned last;
};

Outcome<Range> parse_range(const FieldKind& kind, std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_value(kind, text.substr(0, dash));
  if (!first) return first.error();
  if (dash == std::string_view::npos) return Range{*first, *first};
  const std::string_view end = text.substr(dash + 1);
  auto last = parse_value(kind, end);
  if (!last) return last.error();
  // A week may end with its Sunday.
  if (&kind == &kWeekday && *last == 0 && *first > 0) last = 7U;
  if (*last < *first) return problem(kind, quoted(text) + " ends before it begins");
  return Range{*first, *last};
}

/// Adds what the item names.
Outcome<Done> parse_item(const FieldKind& kind, std::string_view item, FieldValues& values) {
  const std::size_t slash = item.find('/');
  const std::string_view base = item.substr(0, slash);
  unsigned step = 1;
  if (slash != std::string_view::npos) {
    const auto number = parse_number<std::uint16_t>(item.substr(slash + 1));
    if (!number || *number == 0) {
      return problem(kind, quoted(item) + ": the step after the slash must be from 1 to 65535");
    }
    step = *number;
  }
  Range range{kind.min, kind.max};
  if (base == "*" || base == "?") {
    if (step == 1) values.is_any = true;
  } else {
    const auto named = parse_range(kind, base);
    if (!named) return named.error();
    range.first = named->first;
    const bool is_open = slash != std::string_view::npos && base.find('-') == base.npos;
    if (!is_open) range.last = named->last;
  }
  // Sunday is at both ends of the week. Only where it is named does 7 count.
  if (&kind == &kWeekday && (base == "*" || base == "?")) range.last = 6;
  for (unsigned value = range.first; value <= range.last; value += step) {
    values.bits |= std::uint64_t{1} << (&kind == &kWeekday ? value % 7 : value);
  }
  return Done{};
}

Outcome<FieldValues> parse_field(const FieldKind& kind, std::string_view text) {
  FieldValues values;
  for (const std::string_view item : split(text, ',')) {
    if (auto done = parse_item(kind, item, values); !done) return done.error();
  }
  return values;
}

constexpr std::pair<std::string_view, std::string_view> kMacros[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

/// Such as 1h30m. Fractions of a second are left out, and less than one is one, as in Faktory.
Outcome<std::chrono::seconds> parse_interval(std::string_view text) {
  using std::chrono::seconds;
  const auto time = parse_duration(text);
  if (!time || time->count() <= 0 || *time > CronExpression::kIntervalMax) {
    return Problem{"@every: " + quoted(text) +
                   " must be a positive duration of at most 8784h, such as 90s, 1h30m or 1.5h"};
  }
  return std::max(std::chrono::floor<seconds>(*time), seconds{1});
}

}  // namespace

Outcome<CronExpression> CronExpression::parse(std::string_view text) {
  if (text.size() > kBytesMax) return Problem{"longer than 1024 bytes"};
  text = trimmed(text);
  if (text.empty()) return Problem{"is empty; five fields are needed"};
  return text.front() == '@' ? CronExpression{}.with_macro(text)
                             : CronExpression{}.with_fields(text);
}

Outcome<CronExpression> CronExpression::with_macro(std::string_view text) {
  const auto parts = words(text);
  if (parts.front() == "@every" && parts.size() == 2) {
    const auto interval = parse_interval(parts[1]);
    if (!interval) return interval.error();
    interval_ = *interval;
    return *this;
  }
  for (const auto& [name, fields] : kMacros) {
    if (equals_ignoring_case(name, text)) return with_fields(fields);
  }
  if (text == "@reboot") {
    return Problem{
        "@reboot is not a time: a job for each start is pushed by what starts the server, such as "
        "`millrace push`"};
  }
  return Problem{quoted(text) +
                 " is not one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly "
                 "and @every"};
}

Outcome<CronExpression> CronExpression::with_fields(std::string_view text) {
  const auto fields = words(text);
  if (fields.size() != 5) {
    return Problem{"has " + std::to_string(fields.size()) + " field" +
                   (fields.size() == 1 ? "" : "s") +
                   "; five are needed: minute, hour, day of month, month, day of week" +
                   (fields.size() == 6 ? "; for seconds, write @every 30s" : "")};
  }
  const FieldKind* const kinds[] = {&kMinute, &kHour, &kDay, &kMonth, &kWeekday};
  std::array<FieldValues, 5> values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto field = parse_field(*kinds[i], fields[i]);
    if (!field) return field.error();
    values[i] = *field;
  }
  minutes_ = as_set<60>(values[0]);
  hours_ = as_set<24>(values[1]);
  days_ = as_set<32>(values[2]);
  months_ = as_set<13>(values[3]);
  weekdays_ = as_set<7>(values[4]);
  is_any_day_ = values[2].is_any;
  is_any_weekday_ = values[4].is_any;
  if (!is_ever()) return Problem{"no month that it names has such a day, so it would never run"};
  return *this;
}

bool CronExpression::is_ever() const {
  if (is_any_day_ || !is_any_weekday_) return true;
  constexpr unsigned kDaysMax[] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (unsigned month = 1; month <= 12; ++month) {
    for (unsigned day = 1; day <= kDaysMax[month]; ++day) {
      if (months_[month] && days_[day]) return true;
    }
  }
  return false;
}

bool CronExpression::has_day(std::chrono::year_month_day day) const {
  const bool in_days = days_[static_cast<unsigned>(day.day())];
  const bool in_weekdays = weekdays_[std::chrono::weekday(std::chrono::sys_days(day)).c_encoding()];
  if (is_any_day_ || is_any_weekday_) return in_days && in_weekdays;
  return in_days || in_weekdays;
}

std::optional<std::chrono::minutes> CronExpression::first_in_day(std::chrono::minutes from) const {
  const auto from_hour = static_cast<unsigned>(from / std::chrono::hours{1});
  for (unsigned hour = from_hour; hour < hours_.size(); ++hour) {
    if (!hours_[hour]) continue;
    unsigned minute =
        hour == from_hour ? static_cast<unsigned>((from % std::chrono::hours{1}).count()) : 0;
    for (; minute < minutes_.size(); ++minute) {
      if (minutes_[minute]) return std::chrono::hours(hour) + std::chrono::minutes(minute);
    }
  }
  return std::nullopt;
}

std::optional<LocalMinute> CronExpression::first_match(LocalMinute from) const {
  using std::chrono::days;
  using std::chrono::sys_days;
  CHECK(!interval_);
  auto day = std::chrono::floor<days>(from);
  auto in_day = std::chrono::minutes((from - day).count());
  while (true) {
    const std::chrono::year_month_day date{sys_days(day)};
    if (static_cast<int>(date.year()) > kYearMax) return std::nullopt;
    if (!months_[static_cast<unsigned>(date.month())]) {
      const auto next = date.year() / date.month() / 1 + std::chrono::months{1};
      day = sys_days(next).time_since_epoch();
      in_day = {};
      continue;
    }
    if (has_day(date)) {
      if (const auto found = first_in_day(in_day)) return LocalMinute(day) + *found;
    }
    day += days{1};
    in_day = {};
  }
}

}  // namespace millrace::cron
