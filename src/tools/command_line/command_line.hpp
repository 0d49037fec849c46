#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/value_hint.hpp"

namespace millrace::tools {

/// What a shell and a manual page need to know of an option.
struct ShownOption {
  std::string flag;   ///< `--data`; of an argument without a flag its name
  std::string value;  ///< a placeholder, as `DIR`; empty: a switch
  std::string help;
  bool is_positional = false;
  bool is_optional = false;  ///< an argument without a flag that may be left out
  bool is_repeated = false;  ///< an argument that may be given several times
  bool is_path = false;      ///< the value is a file or directory
  cli::ValueHint hint = {};
  std::string letter = {};  ///< `-q`; empty: it has no short flag
};

struct ShownCommand {
  std::string name;
  std::string help;
  std::string footer;
  std::vector<ShownOption> options;
  std::vector<std::string> examples = {};
};

/// All commands with their options, as the parser of the command line has them.
[[nodiscard]] std::vector<ShownCommand> shown_commands(const CLI::App& app);

/// The manual page millrace(1), for `man`.
[[nodiscard]] std::string man_page(std::span<const ShownCommand> commands);

inline constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};

/// The text by which one of `kShells` completes commands, flags, paths, and values that are known.
/// Names of queues come from the server that the environment names. A problem: it is another shell.
[[nodiscard]] Outcome<std::string> completion_for(std::string_view shell,
                                                  std::span<const ShownCommand> commands);

}  // namespace millrace::tools
