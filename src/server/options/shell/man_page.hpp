#pragma once

#include <span>
#include <string>

#include "server/options/shell/command_line.hpp"

namespace millrace::server {

/// The manual page millrace(1), for `man`.
[[nodiscard]] std::string man_page(std::span<const ShownCommand> commands);

}  // namespace millrace::server
