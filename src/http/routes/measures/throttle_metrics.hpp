#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/state/view.hpp"
#include "core/throttle/throttle.hpp"
#include "http/kit/metrics_page.hpp"

/// The metrics of limits: `millrace_throttle_*`.
namespace millrace::http {

/// What is shown of the limits of a queue or a type, copied from the broker.
struct ThrottleFigures {
  std::string label;  ///< as `metrics_label` writes it: of the queue, or of the type
  ThrottleLimits limits;
  std::optional<std::uint64_t> taken;    ///< nullopt: only a rate limits the type
  std::optional<std::uint64_t> waiting;  ///< nullopt: no client waits for a type
  std::uint64_t held = 0;
  std::uint64_t overage = 0;
  std::uint64_t reclaimed = 0;
};

/// `queue` has a throttle. The label is written on another thread: here it is the name alone.
[[nodiscard]] ThrottleFigures figures_of_throttled(const Queue& queue);

/// The types that have limits, by name; at most `kLabelledTypesMax`.
inline constexpr std::size_t kLabelledTypesMax = 1000;
[[nodiscard]] std::vector<ThrottleFigures> figures_of_throttled_types(const View& view);

/// What has no limits has no samples.
void show_throttles(const std::vector<ThrottleFigures>& throttles, MetricsPage& page);

}  // namespace millrace::http
