#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/model/types.hpp"

namespace millrace::faktory {

/// Appends the time as the FWP server writes it: RFC 3339 in UTC, up to 9 fraction digits without
/// trailing zeros, e.g. `2026-11-21T00:59:20.18456563Z`.
void append_time(Time time, std::string& out);
[[nodiscard]] std::string format_time(Time time);

/// `HH:MM:SS UTC`
[[nodiscard]] std::string format_clock(Time time);

/// Reads what the reference server reads:
///
///     time   = year "-" month "-" day "T" hour ":" minute ":" second [fraction] zone
///     hour   = 1*2digit ; 0..23
///     fraction = ("." / ",") 1*digit ; digits below a nanosecond are cut off
///     zone   = "Z" / ("+" / "-") 2digit ":" 2digit
///
/// A time that does not fit into `Time` becomes the nearest one that does and is not `kNever`.
[[nodiscard]] std::optional<Time> parse_time(std::string_view text);

}  // namespace millrace::faktory
