#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "server/options/shell/command_line.hpp"

namespace millrace::server {

/// The text by which `bash`, `zsh` or `fish` completes commands, flags and paths. A problem: it is
/// another shell.
[[nodiscard]] Outcome<std::string> completion_for(std::string_view shell,
                                                  std::span<const ShownCommand> commands);

}  // namespace millrace::server
