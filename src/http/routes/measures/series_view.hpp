#pragma once

#include <cstddef>
#include <string_view>

#include "http/kit/json.hpp"
#include "http/routes/measures/series.hpp"

namespace millrace::http {

/// So many points of the shortest span are one number of `show_recent`: half a minute.
inline constexpr std::size_t kPointsInRecent = 3;

/// How many runs of the queue ended in each half of a minute of the last 15, the oldest first;
/// null: nothing is kept of the queue.
[[nodiscard]] Json show_recent(const Series& series, std::string_view queue);

}  // namespace millrace::http
