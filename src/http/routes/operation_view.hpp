#pragma once

#include "core/broker/bulk_changes.hpp"
#include "http/kit/json.hpp"
#include "http/routes/handlers.hpp"

namespace millrace::http {

[[nodiscard]] Json show_progress(const BulkChanges::Progress& progress, WallClock clock);

/// The members `as_of` and `at_most`.
[[nodiscard]] Outcome<BulkChanges::Bounds> read_bounds(const Json& members);

/// Starts it and answers 202 with its progress so far.
[[nodiscard]] Response begin_operation(const Call& call, BulkChanges::Request request);

}  // namespace millrace::http
