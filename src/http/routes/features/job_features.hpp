#pragma once

#include <string_view>

#include "core/ports/work_unit.hpp"
#include "core/state/view.hpp"
#include "http/kit/json.hpp"

/// What a client asked for with a job besides its run, and what keeps the job waiting.
namespace millrace::http {

/// Null: it asked for no lock.
[[nodiscard]] Json show_lock(const Job& job);

/// When it is removed if no worker has fetched it; null: never.
[[nodiscard]] Json show_expiry(const Job& job);

/// What was told of the progress of the job of that name; null: nothing.
[[nodiscard]] Json show_progress(const Job& job, std::string_view jid, const View& view);

/// Why no worker gets a job that is ready; null: nothing but the jobs before it.
[[nodiscard]] Json show_hold(const Job& job, const WorkUnitFormat::Type& type, const View& view,
                             Time now);

}  // namespace millrace::http
