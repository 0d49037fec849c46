#pragma once

#include "cli/options/choice.hpp"

namespace millrace::cli {

/// Does what a verb is for, and returns the exit status of the program (see `Exit`).
[[nodiscard]] int run(const Choice& choice);

}  // namespace millrace::cli
