#include "cron/time_zone.hpp"

#include <date/tz.h>

#include <algorithm>
#include <array>
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

using std::chrono::days;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year;

/// Takes parts from the front of the text. What is missing makes it wrong for good.
class ClockRule::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<ClockRule> parse() {
    ClockRule rule;
    skip_name();
    rule.standard_ = -take_signed_time();
    skip_name();
    const bool has_offset = !text_.starts_with(',');
    rule.summer_ = has_offset ? -take_signed_time() : rule.standard_ + std::chrono::hours{1};
    rule.begin_ = take_change();
    rule.end_ = take_change();
    if (is_wrong_ || !text_.empty()) return std::nullopt;
    return rule;
  }

 private:
  bool skip(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void require(bool is_right) { is_wrong_ = is_wrong_ || !is_right; }

  void skip_name() {
    std::size_t size = 0;
    if (skip('<')) {
      size = std::min(text_.find('>'), text_.size());
      text_.remove_prefix(size);
      require(skip('>'));
    } else {
      while (size < text_.size() && is_letter(text_[size])) ++size;
      text_.remove_prefix(size);
    }
    require(size >= 3);
  }

  unsigned take_number(unsigned max) {
    constexpr std::size_t kDigitsMax = 3;
    unsigned number = 0;
    std::size_t digits = 0;
    for (; digits < kDigitsMax && !text_.empty() && is_digit(text_.front()); ++digits) {
      number = number * 10 + static_cast<unsigned>(text_.front() - '0');
      text_.remove_prefix(1);
    }
    require(digits > 0 && number <= max);
    return number;
  }

  seconds take_signed_time() {
    const bool is_negative = skip('-');
    if (!is_negative) skip('+');
    seconds time = std::chrono::hours{take_number(167)};
    if (skip(':')) time += std::chrono::minutes{take_number(59)};
    if (skip(':')) time += seconds{take_number(59)};
    return is_negative ? -time : time;
  }

  Change take_change() {
    Change change;
    require(skip(','));
    if (skip('M')) {
      change.kind = Change::Kind::kWeekday;
      change.month = take_number(12);
      require(skip('.'));
      change.week = take_number(5);
      require(skip('.') && change.month > 0 && change.week > 0);
      change.day = take_number(6);
    } else if (skip('J')) {
      change.kind = Change::Kind::kDayWithoutLeap;
      change.day = take_number(365);
      require(change.day > 0);
    } else {
      change.day = take_number(365);
    }
    if (skip('/')) change.at = take_signed_time();
    return change;
  }

  std::string_view text_;
  bool is_wrong_ = false;
};

std::optional<ClockRule> ClockRule::parse(std::string_view text) {
  return Parser(text).parse();
}

seconds ClockRule::Change::in(year year) const {
  const sys_days first = year / 1 / 1;
  switch (kind) {
    case Kind::kDay:
      return (first + days{day}).time_since_epoch() + at;
    case Kind::kDayWithoutLeap: {
      constexpr unsigned kFebruary28 = 59;
      const bool is_later = year.is_leap() && day > kFebruary28;
      return (first + days{day - 1 + (is_later ? 1 : 0)}).time_since_epoch() + at;
    }
    case Kind::kWeekday:
      break;
  }
  const std::chrono::year_month of = year / std::chrono::month{month};
  const std::chrono::weekday weekday{day};
  const sys_days date =
      week == 5 ? sys_days{of / weekday[std::chrono::last]} : sys_days{of / weekday[week]};
  return date.time_since_epoch() + at;
}

ClockPeriod ClockRule::period_at(seconds utc) const {
  struct Set {
    seconds at;
    seconds offset;  ///< from then on
  };
  const year this_year =
      std::chrono::year_month_day{std::chrono::floor<days>(std::chrono::sys_seconds{utc})}.year();
  std::array<Set, 8> sets;
  std::size_t count = 0;
  // Near the turn of a year a neighbour's change may be the nearest.
  for (year year = this_year - std::chrono::years{2}; year <= this_year + std::chrono::years{1};
       ++year) {
    sets[count++] = {begin_.in(year)-standard_, summer_};
    sets[count++] = {end_.in(year)-summer_, standard_};
  }
  std::stable_sort(sets.begin(), sets.end(),
                   [](const Set& a, const Set& b) { return a.at < b.at; });
  const auto next =
      std::find_if(sets.begin(), sets.end(), [utc](const Set& set) { return set.at > utc; });
  const Set& last = *std::prev(next);
  return {.begin = last.at, .end = next->at, .offset = last.offset};
}

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
