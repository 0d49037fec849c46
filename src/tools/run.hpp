#pragma once

#include "tools/command_line/invocation.hpp"

namespace millrace::tools {

/// Does what the command line asks for, but for `kServe`, and prints what comes of it. Returns the
/// exit status.
[[nodiscard]] int run(const Invocation& invocation);

}  // namespace millrace::tools
