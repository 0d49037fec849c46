#pragma once

#include <string>

#include "cli/interrupts.hpp"
#include "cli/session.hpp"

namespace millrace::cli {

/// Follows an operation of the server to its end, and shows its progress. SIGINT cancels it: what
/// was changed stays changed. `interrupts` was there before the operation was asked for: so no
/// signal ends the program before it knows of what it has begun. `doing`: `deleting`. The answer is
/// the operation as it ended.
[[nodiscard]] Reply<Answer> follow(Session& session, Interrupts& interrupts, const Answer& begun,
                                   const std::string& doing);

}  // namespace millrace::cli
