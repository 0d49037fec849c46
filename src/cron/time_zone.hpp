#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "cron/clock_rule.hpp"

namespace date {
class time_zone;
}  // namespace date

namespace millrace::cron {

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
