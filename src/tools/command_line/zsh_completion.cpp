#include "tools/command_line/completion_parts.hpp"

namespace millrace::tools {
namespace {

constexpr const char* kZshBegin = R"sh(#compdef millrace
_millrace_queues() {
  local -a names
  names=(${(f)"$()sh";

constexpr const char* kZshCommands = R"sh()"})
  (( $#names )) && compadd -a names
}
_millrace() {
  local context state line
  local -a commands=(
)sh";

constexpr const char* kZshArguments = R"sh(  )
  _arguments -C '1: :->command' '*:: :->arguments'
  case $state in
    command) _describe command commands ;;
    arguments)
      case $line[1] in
)sh";

constexpr const char* kZshEnd = R"sh(      esac
      ;;
  esac
}
if [ "$funcstack[1]" = _millrace ]; then _millrace "$@"; else compdef _millrace millrace; fi
)sh";

/// What completes the value.
std::string zsh_action(const ShownOption& option) {
  if (option.is_path) return "_files";
  if (option.hint.is_queue) return "_millrace_queues";
  if (option.hint.words.empty()) return " ";
  const std::string words = escaped(words_of(option.hint), ":");
  return option.hint.is_list ? "_values -s , " + option.value + " " + words : "(" + words + ")";
}

/// As `_arguments` takes it.
std::string zsh_argument(const ShownOption& option) {
  if (option.is_positional) {
    const char* const begin = option.is_repeated ? "*:" : option.is_optional ? "::" : ":";
    return begin + option.flag + ":" + zsh_action(option);
  }
  const std::string help = "[" + escaped(option.help, "[]:\\") + "]";
  if (option.value.empty()) return option.flag + help;
  return option.flag + "=" + help + ":" + escaped(option.value, ":") + ":" + zsh_action(option);
}

}  // namespace

std::string zsh_completion(std::span<const ShownCommand> commands) {
  std::string out = std::string(kZshBegin) + kQueueNames + kZshCommands;
  for (const ShownCommand& command : commands) {
    out += "    " + quoted_word(command.name + ":" + escaped(command.help, ":")) + "\n";
  }
  out += kZshArguments;
  for (const ShownCommand& command : commands) {
    out += "        " + command.name + ")\n          _arguments";
    for (const ShownOption& option : command.options) {
      out += " \\\n            " + quoted_word(zsh_argument(option));
    }
    out += "\n          ;;\n";
  }
  return out + kZshEnd;
}

}  // namespace millrace::tools
