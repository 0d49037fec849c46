#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/wall_clock.hpp"

/// How values are written in answers.
namespace millrace::http {

using Json = nlohmann::ordered_json;

/// Compact; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string dump(const Json& json);

[[nodiscard]] inline Json text_or_null(std::string_view text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

/// What the wall clock shows then, as `2026-11-21T00:59:20.184Z`; null for the epoch and for
/// `kNever`.
[[nodiscard]] Json show_time(Time steady, WallClock clock);

[[nodiscard]] double seconds_of(Duration duration);

/// In seconds; null where it is not known.
[[nodiscard]] Json show_length(std::optional<Duration> duration);

/// Rounded to three decimal places: smaller changes are no news.
[[nodiscard]] double show_rate(double per_second);

}  // namespace millrace::http
