#include "tools/command_line/completion_parts.hpp"

namespace millrace::tools {
namespace {

/// They share the variables of `_millrace`: bash gives a function those of its caller.
constexpr const char* kBashFunctions = R"sh(_millrace_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

# The words that fit. The first argument is what separates several ones, or is empty. None is
# offered twice.
_millrace_words() {
  local word before=
  [ -z "$1" ] || [[ $current != *"$1"* ]] || before=${current%"$1"*}$1
  for word in "${@:2}"; do
    [[ -z $before || $1$before != *"$1$word$1"* ]] || continue
    [[ $before$word != "$current"* ]] || COMPREPLY+=("$before$word")
  done
}

_millrace_queues() {
  local name
  while IFS= read -r name; do
    [[ $name != "$current"* ]] || COMPREPLY+=("$(printf %q "$name")")
  done < <()sh";

constexpr const char* kBashPlace = R"sh()
}

# Which argument without a flag comes next. Bash makes words of = and : in others.
_millrace_place() {
  local i
  place=1
  for ((i = 2; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      [=:]) i=$((i + 1)) ;;
      -*) [[ ${COMP_WORDS[i + 1]} = = || $valued != *" ${COMP_WORDS[i]} "* ]] || i=$((i + 1)) ;;
      *) place=$((place + 1)) ;;
    esac
  done
}

_millrace() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local flags= valued= place=0
  if [ "$current" = = ]; then current=; elif [ "$before" = = ]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    _millrace_words '' )sh";

constexpr const char* kBashEnd = R"sh(  esac
  [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
}
complete -F _millrace millrace
)sh";

/// What completes the value; empty: nothing does.
std::string bash_action(const ShownOption& option) {
  if (option.is_path) return "_millrace_files";
  if (option.hint.is_queue) return "_millrace_queues";
  if (option.hint.words.empty()) return "";
  return std::string("_millrace_words ") + (option.hint.is_list ? "," : "''") + " " +
         words_of(option.hint);
}

/// One branch for each flag that has a value, and for each argument without a flag.
void add_bash_command(std::string& out, const ShownCommand& command) {
  std::string flags;
  std::string valued;
  std::string of_flags;
  std::string of_places;
  int place = 0;
  for (const ShownOption& option : command.options) {
    const std::string action = bash_action(option);
    if (option.is_positional) {
      const std::string pattern = option.is_repeated ? "*" : std::to_string(++place);
      if (!action.empty()) of_places += "        " + pattern + ") " + action + " ;;\n";
      continue;
    }
    flags += (flags.empty() ? "" : " ") + option.flag;
    if (option.value.empty()) continue;
    valued += " " + option.flag;
    of_flags +=
        "        " + option.flag + ") " + action + (action.empty() ? "" : "; ") + "return ;;\n";
  }
  out += "    " + command.name + ")\n      flags='" + flags + "'\n";
  if (!valued.empty()) {
    out += "      valued='" + valued + " '\n      case $before in\n" + of_flags + "      esac\n";
  }
  if (!of_places.empty()) {
    out += "      [[ $current = -* ]] || _millrace_place\n      case $place in\n        0) ;;\n" +
           of_places + "      esac\n";
  }
  out += "      ;;\n";
}

}  // namespace

std::string bash_completion(std::span<const ShownCommand> commands) {
  std::string out = std::string(kBashFunctions) + kQueueNames + kBashPlace;
  for (const ShownCommand& command : commands) out += command.name + " ";
  out += "help version --help --version\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n";
  for (const ShownCommand& command : commands) add_bash_command(out, command);
  return out + kBashEnd;
}

}  // namespace millrace::tools
