#pragma once

#include <cstdint>
#include <string>

#include "core/model/queue.hpp"
#include "core/state/view.hpp"
#include "core/throttle/throttle.hpp"
#include "http/kit/json.hpp"

/// How the limits of queues are shown.
namespace millrace::http {

/// The limit by which the queue hands out nothing now, as `4 of 4`; empty: there is none.
[[nodiscard]] std::string throttled_by(const Queue& queue, Time now);

/// How many jobs count against the limits. Where only a rate limits the queue, no job takes a slot:
/// then all that run. `queue` may be null.
[[nodiscard]] std::uint64_t running_count(const Throttle& throttle, const Queue* queue);

/// A limit that is not there is null.
[[nodiscard]] Json show_limits(const ThrottleLimits& limits);

/// The limits of a queue, where they are from, and what counts against them.
[[nodiscard]] Json show_throttle(const Throttle& throttle, const View& view, Time now);

/// The pattern and its limits.
[[nodiscard]] Json show_rule(const ThrottleRule& rule);

}  // namespace millrace::http
