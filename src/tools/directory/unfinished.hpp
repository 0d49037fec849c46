#pragma once

#include <string>

#include "base/result.hpp"

namespace millrace::tools {

/// The file in a directory that says that a restore has begun there and not ended.
inline constexpr const char* kRestoreName = "restore";

/// Refuses a directory with a restore that has not ended.
[[nodiscard]] Outcome<Done> refuse_unfinished_restore(const std::string& directory);

/// Refuses a data directory in which an import or a restore has begun and not ended: what it has is
/// not all that it should have. To be called before anything else is done with one.
[[nodiscard]] Outcome<Done> refuse_unfinished(const std::string& directory);

/// The same, and refuses a directory whose jobs were exported: served, or served in a copy, they
/// would be run at two places.
[[nodiscard]] Outcome<Done> refuse_unfinished_or_exported(const std::string& directory);

/// The same, and refuses a backup. For a server.
[[nodiscard]] Outcome<Done> refuse_unservable(const std::string& directory);

}  // namespace millrace::tools
