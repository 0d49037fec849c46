#pragma once

#include <span>
#include <string>

#include "tools/command_line/command_line.hpp"

namespace millrace::tools {

/// The manual page millrace(1), for `man`.
[[nodiscard]] std::string man_page(std::span<const ShownCommand> commands);

}  // namespace millrace::tools
