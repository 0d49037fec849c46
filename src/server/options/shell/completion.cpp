#include "server/options/shell/completion.hpp"

namespace millrace::server {
namespace {

/// As one word of a shell.
std::string quoted_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
  return out + "'";
}

/// With a backslash before each of these characters.
std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// The flags that are wanted, with something between them.
template <typename Wanted>
std::string flags_of(const ShownCommand& command, const char* between, const Wanted& wanted) {
  std::string all;
  for (const ShownOption& option : command.options) {
    if (!option.is_positional && wanted(option)) all += (all.empty() ? "" : between) + option.flag;
  }
  return all;
}

bool takes_paths(const ShownCommand& command) {
  for (const ShownOption& option : command.options) {
    if (option.is_positional && option.is_path) return true;
  }
  return false;
}

/// One arm of a `case`, where there is something to match.
void add_arm(std::string& out, const std::string& patterns, const char* action) {
  if (!patterns.empty()) out += "        " + patterns + ") " + action + "; return ;;\n";
}

std::string for_bash(std::span<const ShownCommand> commands) {
  std::string names;
  for (const ShownCommand& command : commands) names += command.name + " ";
  std::string out =
      "_millrace() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} flags=\n"
      "  # Bash makes a word of the sign in --flag=value.\n"
      "  if [ \"$current\" = = ]; then current=; elif [ \"$before\" = = ]; then\n"
      "    before=${COMP_WORDS[COMP_CWORD - 2]}\n"
      "  fi\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W '" +
      names + "--help --version' -- \"$current\")\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n";
  for (const ShownCommand& command : commands) {
    out += "    " + command.name + ")\n      case $before in\n";
    add_arm(out, flags_of(command, "|", [](const ShownOption& option) { return option.is_path; }),
            "mapfile -t COMPREPLY < <(compgen -f -- \"$current\")");
    add_arm(out,
            flags_of(
                command, "|",
                [](const ShownOption& option) { return !option.is_path && !option.value.empty(); }),
            ":");
    out += "      esac\n      flags='" +
           flags_of(command, " ", [](const ShownOption&) { return true; }) + "'\n";
    if (takes_paths(command)) {
      out += "      [[ $current == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n";
    }
    out += "      ;;\n";
  }
  return out +
         "  esac\n"
         "  [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- "
         "\"$current\")\n"
         "}\n"
         "complete -o filenames -F _millrace millrace\n";
}

std::string for_zsh(std::span<const ShownCommand> commands) {
  std::string out =
      "#compdef millrace\n"
      "_millrace() {\n"
      "  local context state line\n"
      "  local -a commands=(\n";
  for (const ShownCommand& command : commands) {
    out += "    " + quoted_word(command.name + ":" + escaped(command.help, ":")) + "\n";
  }
  out +=
      "  )\n"
      "  _arguments -C '1: :->command' '*:: :->arguments'\n"
      "  case $state in\n"
      "    command) _describe command commands ;;\n"
      "    arguments)\n"
      "      case $line[1] in\n";
  for (const ShownCommand& command : commands) {
    out += "        " + command.name + ")\n          _arguments";
    for (const ShownOption& option : command.options) {
      const std::string beginning = option.is_repeated ? "*:" : ":";
      std::string word = option.is_positional ? beginning + option.flag
                                              : option.flag + (option.value.empty() ? "" : "=") +
                                                    "[" + escaped(option.help, "[]:\\") + "]";
      if (!option.is_positional && !option.value.empty()) word += ":" + escaped(option.value, ":");
      if (option.is_path) word += ":_files";
      if (!option.is_path && (option.is_positional || !option.value.empty())) word += ": ";
      out += " \\\n            " + quoted_word(word);
    }
    out += "\n          ;;\n";
  }
  return out +
         "      esac\n"
         "      ;;\n"
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _millrace ]; then _millrace \"$@\"; else compdef _millrace "
         "millrace; fi\n";
}

/// Fish has its own escapes in quotes.
std::string fish_word(std::string_view text) {
  return "'" + escaped(text, "'\\") + "'";
}

std::string for_fish(std::span<const ShownCommand> commands) {
  std::string out = "complete -c millrace -f\n";
  for (const ShownCommand& command : commands) {
    out += "complete -c millrace -n __fish_use_subcommand -a " + command.name + " -d " +
           fish_word(command.help) + "\n";
    const std::string begin =
        "complete -c millrace -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const ShownOption& option : command.options) {
      if (option.is_positional) {
        if (option.is_path) out += begin + " -F\n";
        continue;
      }
      out += begin + " -l " + option.flag.substr(2);
      if (!option.value.empty()) out += option.is_path ? " -r -F" : " -x";
      out += " -d " + fish_word(option.help) + "\n";
    }
  }
  return out;
}

}  // namespace

Outcome<std::string> completion_for(std::string_view shell,
                                    std::span<const ShownCommand> commands) {
  if (shell == "bash") return for_bash(commands);
  if (shell == "zsh") return for_zsh(commands);
  if (shell == "fish") return for_fish(commands);
  return Problem{"the shell must be bash, zsh or fish"};
}

}  // namespace millrace::server
