#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/types.hpp"

namespace millrace::http {

/// What an alert tells of.
struct AlertCondition {
  enum class Kind { kConcern, kLatency, kDead, kTakeover };

  std::string text;  ///< names it among those of its alert: "disk", "latency of mail* over 5m"
  Kind kind = Kind::kConcern;
  std::string concern = {};                                    ///< of Attention: its kind
  std::function<bool(std::string_view queue)> has_queue = {};  ///< empty: all have it
  Duration span{};         ///< a job waits longer than that; or, in which the dead jobs are counted
  std::uint64_t dead = 0;  ///< so many more are dead
};

/// An `[[alert]]`.
struct AlertRule {
  enum class Form { kJson, kSlack, kPagerDuty };

  std::string name;
  Form form = Form::kJson;
  std::string receiver;          ///< as it may be shown: no path, no query
  std::string routing_key = {};  ///< of PagerDuty
  Duration hold = 1min;          ///< fires after that, and is over after that
  Duration repeat = 4h;          ///< 0: it is sent once
  std::vector<AlertCondition> conditions = {};
};

inline constexpr std::size_t kAlertsMax = 20;
inline constexpr std::size_t kAlertConditionsMax = 20;  ///< of each

}  // namespace millrace::http
