#pragma once

#include <string_view>

#include "cli/exit.hpp"
#include "cli/options/choice.hpp"

namespace millrace::cli {

struct Session;

/// What a verb is for.
using Verb = Exit (*)(Session&);

/// Finds what does a verb that needs more than a connection to a server.
using FindVerb = Verb (*)(std::string_view name);

/// Does what a verb is for, and returns the exit status of the program (see `Exit`).
[[nodiscard]] int run(const Choice& choice, FindVerb find_other);

}  // namespace millrace::cli
