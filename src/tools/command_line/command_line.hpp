#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

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

}  // namespace millrace::tools
