#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/command_line/command_line.hpp"

/// What the completions of the shells are made of.
namespace millrace::tools {

/// Prints the names of all queues; nothing, if the server does not answer at once. The shells split
/// its lines and take them as they are: a name may have `$(` in it.
inline constexpr const char* kQueueNames = "timeout 2 millrace queues --names 2>/dev/null";

/// As one word of a shell.
[[nodiscard]] std::string quoted_word(std::string_view text);

/// With a backslash before each of these characters.
[[nodiscard]] std::string escaped(std::string_view text, std::string_view special);

/// The words of a hint, with blanks between.
[[nodiscard]] std::string words_of(const cli::ValueHint& hint);

[[nodiscard]] std::string bash_completion(std::span<const ShownCommand> commands);
[[nodiscard]] std::string zsh_completion(std::span<const ShownCommand> commands);
[[nodiscard]] std::string fish_completion(std::span<const ShownCommand> commands);

}  // namespace millrace::tools
