#pragma once

#include <array>
#include <span>
#include <string_view>

namespace millrace::tools {

/// What help and manual page add to a command.
struct CommandPage {
  std::string_view name;
  const char* group;  ///< its heading in `millrace --help`
  std::array<const char*, 2> examples;
};

/// All commands, in the order of the help: the common ones first. Those of a group are together.
[[nodiscard]] std::span<const CommandPage> command_pages();

/// Null: there is no such command.
[[nodiscard]] const CommandPage* find_page(std::string_view name);

}  // namespace millrace::tools
