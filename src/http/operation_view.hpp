#pragma once

#include "core/bulk_change.hpp"
#include "http/handlers.hpp"
#include "http/json.hpp"

namespace millrace::http {

[[nodiscard]] Json show_progress(const BulkChanges::Progress& progress);

/// The members `as_of` and `at_most`.
[[nodiscard]] Outcome<BulkChanges::Bounds> read_bounds(const Json& members);

/// Starts it and answers 202 with its progress so far.
[[nodiscard]] Response begin_operation(const Call& call, BulkChanges::Request request);

}  // namespace millrace::http
