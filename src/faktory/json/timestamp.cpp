#include "faktory/json/timestamp.hpp"

#include <date/date.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/text.hpp"

namespace millrace::faktory {
namespace {

using std::chrono::seconds;

/// The first and last second that fit into `Time`.
constexpr seconds kFirstSecond = date::ceil<seconds>(Duration::min());
constexpr seconds kLastSecond = date::floor<seconds>(Duration::max()) - seconds{1};

constexpr int kFractionDigits = 9;

void append_number(int value, int digits, std::string& out) {
  const std::size_t end = out.size() + static_cast<std::size_t>(digits);
  out.resize(end, '0');
  for (std::size_t i = end; value > 0; value /= 10) out[--i] = static_cast<char>('0' + value % 10);
}

/// The parts of a time. They are found by way of seconds: the beginning of the earliest day is no
/// `Time`, which has nanoseconds.
struct Parts {
  date::year_month_day calendar;
  date::hh_mm_ss<seconds> clock;
  Duration fraction;
};

Parts take_apart(Time time) {
  const Duration since_1970 = time.time_since_epoch();
  seconds whole = std::chrono::duration_cast<seconds>(since_1970);
  Duration fraction = since_1970 % seconds{1};
  // Before 1970 the division rounds towards zero, and the fraction is negative.
  if (fraction < Duration::zero()) {
    whole -= seconds{1};
    fraction += seconds{1};
  }
  const auto day = date::floor<date::days>(whole);
  return {date::year_month_day{date::sys_days{day}}, date::hh_mm_ss<seconds>{whole - day},
          fraction};
}

void append_clock(const date::hh_mm_ss<seconds>& clock, std::string& out) {
  append_number(static_cast<int>(clock.hours().count()), 2, out);
  out += ':';
  append_number(static_cast<int>(clock.minutes().count()), 2, out);
  out += ':';
  append_number(static_cast<int>(clock.seconds().count()), 2, out);
}

void append_fraction(Duration fraction, std::string& out) {
  if (fraction == Duration::zero()) return;
  out += '.';
  append_number(static_cast<int>(fraction.count()), kFractionDigits, out);
  // As RFC3339Nano in Go, which the reference and its clients use.
  while (out.back() == '0') out.pop_back();
}

/// Reads a time from left to right. After the first part that does not fit, every other fails too.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool is_well_formed() const { return !failed_ && text_.empty(); }

  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char c) { failed_ |= !take(c); }

  /// Between `digits_min` and `digits_max` digits, as many as there are.
  int number(std::size_t digits_min, std::size_t digits_max) {
    int value = 0;
    std::size_t count = 0;
    for (; count < digits_max && count < text_.size() && is_digit(text_[count]); ++count) {
      value = value * 10 + (text_[count] - '0');
    }
    failed_ |= count < digits_min;
    text_.remove_prefix(count);
    return value;
  }

  Duration fraction() {
    // Go reads a comma too.
    if (!take('.') && !take(',')) return Duration::zero();
    std::int64_t value = 0;
    int count = 0;
    for (; !text_.empty() && is_digit(text_.front()); text_.remove_prefix(1), ++count) {
      // Further digits are read and dropped: a nanosecond is the smallest that we store.
      if (count < kFractionDigits) value = value * 10 + (text_.front() - '0');
    }
    failed_ |= count == 0;
    for (; count < kFractionDigits; ++count) value *= 10;
    return Duration{value};
  }

  /// How far the local time is ahead of UTC.
  seconds zone() {
    if (take('Z')) return seconds::zero();
    const bool is_behind = take('-');
    if (!is_behind) expect('+');
    const int hours = number(2, 2);
    expect(':');
    const int minutes = number(2, 2);
    failed_ |= minutes > 59;
    const seconds ahead = std::chrono::hours{hours} + std::chrono::minutes{minutes};
    return is_behind ? -ahead : ahead;
  }

 private:
  std::string_view text_;
  bool failed_ = false;
};

}  // namespace

void append_time(Time time, std::string& out) {
  const Parts parts = take_apart(time);
  append_number(static_cast<int>(parts.calendar.year()), 4, out);
  out += '-';
  append_number(static_cast<int>(static_cast<unsigned>(parts.calendar.month())), 2, out);
  out += '-';
  append_number(static_cast<int>(static_cast<unsigned>(parts.calendar.day())), 2, out);
  out += 'T';
  append_clock(parts.clock, out);
  append_fraction(parts.fraction, out);
  out += 'Z';
}

std::string format_time(Time time) {
  std::string out;
  append_time(time, out);
  return out;
}

std::string format_clock(Time time) {
  std::string out;
  append_clock(take_apart(time).clock, out);
  out += " UTC";
  return out;
}

std::optional<Time> parse_time(std::string_view text) {
  Scanner scanner(text);
  const date::year year{scanner.number(4, 4)};
  scanner.expect('-');
  const date::month month{static_cast<unsigned>(scanner.number(2, 2))};
  scanner.expect('-');
  const date::day day{static_cast<unsigned>(scanner.number(2, 2))};
  scanner.expect('T');
  // One digit is legal in Go.
  const int hour = scanner.number(1, 2);
  scanner.expect(':');
  const int minute = scanner.number(2, 2);
  scanner.expect(':');
  const int second = scanner.number(2, 2);
  const Duration fraction = scanner.fraction();
  const seconds ahead = scanner.zone();
  if (!scanner.is_well_formed() || !(year / month / day).ok()) return std::nullopt;
  // No leap second: the reference knows none.
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;

  const seconds local = date::sys_days{year / month / day}.time_since_epoch() +
                        std::chrono::hours{hour} + std::chrono::minutes{minute} + seconds{second};
  return Time{Duration{std::clamp(local - ahead, kFirstSecond, kLastSecond)} + fraction};
}

}  // namespace millrace::faktory
