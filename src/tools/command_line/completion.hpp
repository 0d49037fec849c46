#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "tools/command_line/command_line.hpp"

namespace millrace::tools {

inline constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};

/// The text by which one of `kShells` completes commands, flags, paths, and values that are known.
/// Names of queues come from the server that the environment names. A problem: it is another shell.
[[nodiscard]] Outcome<std::string> completion_for(std::string_view shell,
                                                  std::span<const ShownCommand> commands);

}  // namespace millrace::tools
