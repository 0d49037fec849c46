#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/types.hpp"

namespace date {
class time_zone;
}  // namespace date

namespace millrace::cron {

/// The rules by which some place sets its clocks, from the zone files of the system. They are read
/// once and stay as they are until the process ends. A value is a reference to them.
class TimeZone {
 public:
  /// A span in which a place's clocks are not set.
  struct Period {
    std::chrono::seconds begin;   ///< since 1970 in UTC
    std::chrono::seconds end;     ///< the first moment that is not in it
    std::chrono::seconds offset;  ///< local time less UTC
  };

  /// UTC. It needs no file.
  TimeZone() = default;

  /// A problem: the system knows no zone of that name, such as `Europe/Berlin`, or its file cannot
  /// be read.
  [[nodiscard]] static Outcome<TimeZone> find(std::string_view name);

  [[nodiscard]] std::string name() const;

  /// The period of that moment.
  [[nodiscard]] Period period_at(std::chrono::seconds utc) const;

 private:
  explicit TimeZone(const date::time_zone* zone) : zone_(zone) {}

  const date::time_zone* zone_ = nullptr;  ///< nullptr: UTC
};

}  // namespace millrace::cron
