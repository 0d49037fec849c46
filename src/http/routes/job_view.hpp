#pragma once

#include "core/ports/work_unit.hpp"
#include "http/kit/json.hpp"
#include "http/kit/site.hpp"

/// How a job is shown.
namespace millrace::http {

/// As a row of a list.
[[nodiscard]] Json row_of(const Job& job, const Site& site);

/// All that is known, as JSON. Of a body longer than `kBodyShownBytesMax` only its beginning, as
/// text.
[[nodiscard]] std::string write_detail(const Job& job, const Site& site);

/// How many jobs there are in each state.
[[nodiscard]] Json show_counts(const View& view);

inline constexpr std::size_t kBodyShownBytesMax = 256 * 1024;

/// A pushed job is rendered whole to show its beginning; a larger one is not.
inline constexpr std::size_t kBodyRenderedBytesMax = 4 << 20;
inline constexpr std::size_t kErrorShownBytesMax = 300;

}  // namespace millrace::http
