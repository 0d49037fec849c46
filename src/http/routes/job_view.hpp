#pragma once

#include <string_view>

#include "core/ports/work_unit.hpp"
#include "core/state/features/finished_jobs.hpp"
#include "http/kit/json.hpp"
#include "http/routes/job_filter.hpp"
#include "http/routes/scope.hpp"
#include "http/routes/site.hpp"

/// How a job is shown.
namespace millrace::http {

/// The job as a row of a list.
[[nodiscard]] Json row_of(const Job& job, const Site& site);

/// All that is known of the job, as JSON text. Of a body longer than `kBodyShownBytesMax` only the
/// beginning is shown.
[[nodiscard]] std::string write_detail(const Job& job, const Site& site, Time now);

[[nodiscard]] inline JobReading body_reading(const Site& site) {
  return {.format = site.format, .args_part = site.args_part, .view = site.broker.view()};
}

/// How many jobs there are in each state.
[[nodiscard]] Json show_counts(const View& view, const ScopedQueues& queues);

inline constexpr std::size_t kBodyShownBytesMax = 256 * 1024;

/// A pushed job is rendered whole to show its beginning. A longer one is not shown.
inline constexpr std::size_t kBodyRenderedBytesMax = 4 << 20;
inline constexpr std::size_t kErrorShownBytesMax = 300;

/// `done`, `dropped`, `deleted` or `expired`.
[[nodiscard]] std::string_view outcome_of(JobEnd how);

/// When the first of the ended jobs ended that are still remembered, or null.
[[nodiscard]] Json show_kept_since(const View& view, Time now);
[[nodiscard]] bool is_outcome(std::string_view name);

/// Its jid and its type, as far as they are known.
[[nodiscard]] WorkUnitFormat::Name name_of(const FinishedJob& job, const WorkUnitFormat& format);

/// The job that has ended as a row of a list.
[[nodiscard]] Json show_finished(const FinishedJob& job, const Site& site);
/// The same with its attempts.
[[nodiscard]] Json show_whole_finished(const FinishedJob& job, const Site& site);

}  // namespace millrace::http
