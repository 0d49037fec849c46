#pragma once

#include <string>

#include "cli/session.hpp"

namespace millrace::cli {

/// Follows an operation of the server to its end, and shows its progress. SIGINT cancels it: what
/// was changed stays changed. `doing`: `deleting`. The answer is the operation as it ended.
[[nodiscard]] Reply<Answer> follow(Session& session, const Answer& begun, const std::string& doing);

}  // namespace millrace::cli
