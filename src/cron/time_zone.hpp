#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace date {
class time_zone;
}  // namespace date

namespace millrace::cron {

/// A span in which a place's clocks are not set.
struct ClockPeriod {
  std::chrono::seconds begin;   ///< since 1970 in UTC
  std::chrono::seconds end;     ///< the first moment that is not in it
  std::chrono::seconds offset;  ///< local time less UTC
};

/// How a place sets its clocks each year, as POSIX writes it for the variable TZ:
///
///     rule   = name offset name [ offset ] "," change "," change   ; summer time begins, and ends
///     name   = 3*letter / "<" 3*( letter / digit / "+" / "-" ) ">"
///     offset = [ "+" / "-" ] time                     ; UTC less local time
///     change = date [ "/" [ "+" / "-" ] time ]        ; 02:00 by the clocks before the change
///     date   = "M" month "." week "." weekday         ; the fifth week is the last; 0 is Sunday
///            / "J" day                                ; 1 to 365, without February 29
///            / day                                    ; 0 to 365
///     time   = hours [ ":" minutes [ ":" seconds ] ]  ; up to 167 hours
class ClockRule {
 public:
  /// nullopt: it is no such rule, or the clocks are never set.
  [[nodiscard]] static std::optional<ClockRule> parse(std::string_view text);

  /// The period of a moment between the years 1970 and 3000.
  [[nodiscard]] ClockPeriod period_at(std::chrono::seconds utc) const;

 private:
  class Parser;

  struct Change {
    enum class Kind { kWeekday, kDayWithoutLeap, kDay };
    Kind kind = Kind::kDay;
    unsigned month = 1;
    unsigned week = 1;
    unsigned day = 0;  ///< of the week, or of the year
    std::chrono::seconds at = std::chrono::hours{2};

    /// By the clocks before the change, since 1970.
    [[nodiscard]] std::chrono::seconds in(std::chrono::year year) const;
  };

  std::chrono::seconds standard_{};  ///< local time less UTC
  std::chrono::seconds summer_{};
  Change begin_;
  Change end_;
};

/// The rules by which some place sets its clocks, from the zone files of the system. Tables of such
/// files end in 2037 or earlier, and the rule at the end of a file goes on from there. The tables
/// are read once and stay as they are until the process ends: a value has a reference to them.
class TimeZone {
 public:
  using Period = ClockPeriod;

  /// UTC. It needs no file.
  TimeZone() = default;

  /// A problem: the system knows no zone of that name, such as `Europe/Berlin`, or its file cannot
  /// be read.
  [[nodiscard]] static Outcome<TimeZone> find(std::string_view name);

  [[nodiscard]] std::string name() const;

  /// The period of that moment.
  [[nodiscard]] Period period_at(std::chrono::seconds utc) const;

 private:
  TimeZone(const date::time_zone* zone, const std::optional<ClockRule>& rule)
      : zone_(zone), rule_(rule) {}

  const date::time_zone* zone_ = nullptr;  ///< nullptr: UTC
  std::optional<ClockRule> rule_;  ///< after the table; nullopt: clocks are not set any more
};

}  // namespace millrace::cron
