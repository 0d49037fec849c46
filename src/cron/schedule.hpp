#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "cron/cron_expression.hpp"
#include "cron/time_zone.hpp"

namespace millrace::cron {

/// The moments at which an entry runs: an expression, read in a time zone. All `Time`s here are
/// wall time, from 1970 to 2199.
///
/// Clocks that are set change the times of a run thus:
///
/// * Named hours run once a day. A minute that a gap skips runs directly after the gap, all such
///   minutes together once. A minute that comes twice runs the first time.
/// * An expression of every hour runs in every real hour: at each moment whose local time matches.
/// * `@every` runs at whole multiples of its interval since 1970 in UTC, so that restarts change
///   nothing.
class Schedule {
 public:
  /// The text may begin with `CRON_TZ=ZONE ` or `TZ=ZONE `. Otherwise `zone` holds; empty: UTC.
  /// Both is a problem.
  [[nodiscard]] static Outcome<Schedule> parse(std::string_view text, std::string_view zone = {});

  /// The first run after that moment. kNever: none before 2200. The cost does not depend on how far
  /// away it is: below 20 µs.
  [[nodiscard]] Time next_run(Time after) const;

  /// The first moment, not before `from`, after which at most `count` runs are due until `until`,
  /// which counts.
  [[nodiscard]] Time skip_to_newest(Time from, Time until, std::size_t count) const;

  /// The expression in words, with the city of its zone where they depend on it: "every day at
  /// 02:30, Berlin". Nullopt: it has no short words.
  [[nodiscard]] std::optional<std::string> in_words() const;

  [[nodiscard]] const TimeZone& zone() const { return zone_; }

 private:
  Schedule(const CronExpression& expression, TimeZone zone)
      : expression_(expression), zone_(zone) {}
  [[nodiscard]] Time next_of_named_hours(std::chrono::seconds after) const;
  [[nodiscard]] Time next_of_every_hour(std::chrono::seconds after) const;
  [[nodiscard]] bool has_more_than(std::size_t count, Time from, Time until) const;

  CronExpression expression_;
  TimeZone zone_;
};

}  // namespace millrace::cron
