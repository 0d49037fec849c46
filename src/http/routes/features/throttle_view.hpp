#pragma once

#include <cstdint>
#include <string>

#include "core/broker/view.hpp"
#include "core/model/queue.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/throttle/throttle.hpp"
#include "http/kit/json.hpp"

/// How the limits of queues and types are shown.
namespace millrace::http {

/// The limit by which the queue hands out nothing now, as `4 of 4`; empty: there is none.
[[nodiscard]] std::string throttled_by(const Queue& queue, Time now);

/// The limit of its type or its key for which the job, which is ready, waits: `type Mail 3 of 3`,
/// `key acme 2 of 2`; empty: there is none.
[[nodiscard]] std::string held_by(const Job& job, const WorkUnitFormat::Type& type,
                                  const View& view, Time now);

/// How many jobs count against the limits. Where only a rate limits the queue, no job takes a slot:
/// then all that run. `queue` may be null, and is for a type.
[[nodiscard]] std::uint64_t running_count(const Throttle& throttle, const Queue* queue);

/// A limit that is not there is null.
[[nodiscard]] Json show_limits(const ThrottleLimits& limits);

/// The limits of a queue or a type, where they are from, and what counts against them.
[[nodiscard]] Json show_throttle(const Throttle& throttle, const View& view, Time now);

/// The pattern and its limits.
[[nodiscard]] Json show_rule(const ThrottleRule& rule);

}  // namespace millrace::http
