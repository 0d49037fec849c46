#pragma once

#include <string_view>

#include "core/state/features/finished_jobs.hpp"
#include "http/kit/json.hpp"
#include "http/routes/site.hpp"

/// How a job that has ended is shown.
namespace millrace::http {

/// `done`, `dropped`, `deleted` or `expired`.
[[nodiscard]] std::string_view outcome_of(JobEnd how);
[[nodiscard]] bool is_outcome(std::string_view name);

/// Its jid and its type, as far as they are known.
[[nodiscard]] WorkUnitFormat::Name name_of(const FinishedJob& job, const WorkUnitFormat& format);

/// The job as a row of a list.
[[nodiscard]] Json show_finished(const FinishedJob& job, const Site& site);

}  // namespace millrace::http
