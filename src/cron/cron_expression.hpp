#pragma once

#include <bitset>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::cron {

/// Wall time of some place, in minutes since 1970 there. Which moment that is, its time zone knows.
using LocalMinute = std::chrono::duration<std::chrono::system_clock::rep, std::ratio<60>>;

/// When something is to be done again and again, as people write it for cron:
///
///     expression := five fields | macro
///     fields     := minute hour day-of-month month day-of-week, with white space between
///     field      := item { "," item }
///     item       := ( "*" | "?" | value | value "-" value ) [ "/" step ]
///     value      := number | the first three letters of a month or weekday, in any case
///     macro      := "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight"
///                 | "@hourly" | "@every " duration
///     duration   := one or more of: number ( "h" | "m" | "s" )
///
/// `?` means the same as `*`. Weekdays count from Sunday, which is 0 and 7. `5/15` means 5-59/15.
/// Where both day fields name days, a day of either is meant.
class CronExpression {
 public:
  /// A problem says which field is wrong, and how. An expression of fields that no date matches,
  /// such as February 30, is one too.
  [[nodiscard]] static Outcome<CronExpression> parse(std::string_view text);

  /// What `@every` says; nullopt for all others.
  [[nodiscard]] std::optional<std::chrono::seconds> interval() const { return interval_; }

  /// True when it names every hour: it then means every real hour, not those of a clock's dial.
  [[nodiscard]] bool is_every_hour() const { return hours_.all(); }

  /// The first minute that matches, not before `from`. Takes some hundred steps at most. Nullopt
  /// after the year 2200, where no times are. Only for an expression without `interval`.
  [[nodiscard]] std::optional<LocalMinute> first_match(LocalMinute from) const;

  /// When it runs, such as "Monday to Friday at 09:00 and 17:00". Two expressions of the same words
  /// have the same matches. Nullopt: it has no short words.
  [[nodiscard]] std::optional<std::string> in_words() const;
  /// The words name times of a clock or days, which differ from zone to zone.
  [[nodiscard]] bool has_clock_times() const;

  static constexpr std::size_t kBytesMax = 1024;
  static constexpr std::chrono::hours kIntervalMax{366 * 24};

  bool operator==(const CronExpression&) const = default;

 private:
  CronExpression() = default;
  Outcome<CronExpression> with_fields(std::string_view text);
  Outcome<CronExpression> with_macro(std::string_view text);
  [[nodiscard]] bool is_ever() const;
  [[nodiscard]] std::optional<std::string> days_in_words() const;
  [[nodiscard]] bool has_day(std::chrono::year_month_day day) const;
  [[nodiscard]] std::optional<std::chrono::minutes> first_in_day(std::chrono::minutes from) const;

  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;    ///< from bit 1
  std::bitset<13> months_;  ///< from bit 1
  std::bitset<7> weekdays_;
  bool is_any_day_ = false;      ///< the field is `*`
  bool is_any_weekday_ = false;  ///< the field is `*`
  std::optional<std::chrono::seconds> interval_;
};

}  // namespace millrace::cron
