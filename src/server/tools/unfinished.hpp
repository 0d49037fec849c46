#pragma once

#include <string>

#include "base/result.hpp"

namespace millrace::server {

/// Refuses a data directory in which an import or a restore has begun and not ended: what it has is
/// not all that it should have. To be called before anything else is done with one.
[[nodiscard]] Outcome<Done> refuse_unfinished(const std::string& directory);

/// The same, and refuses a directory whose jobs were exported: served, or served in a copy, they
/// would be run at two places.
[[nodiscard]] Outcome<Done> refuse_unfinished_or_exported(const std::string& directory);

}  // namespace millrace::server
