#include "tools/command_line/command_line.hpp"

namespace millrace::tools {
namespace {

/// Prints the names of all queues; nothing, if the server does not answer at once. The shells split
/// its lines and take them as they are: a name may have `$(` in it.
constexpr const char* kQueueNames = "timeout 2 millrace queues --names 2>/dev/null";

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

/// The words of a hint, with blanks between.
std::string words_of(const cli::ValueHint& hint) {
  std::string all;
  for (const std::string_view word : hint.words) {
    if (!all.empty()) all += ' ';
    all += word;
  }
  return all;
}

// ---- bash ---------------------------------------------------------------------------------------

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
    valued += " " + option.flag + (option.letter.empty() ? "" : " " + option.letter);
    of_flags += "        " + option.flag + (option.letter.empty() ? "" : "|" + option.letter) +
                ") " + action + (action.empty() ? "" : "; ") + "return ;;\n";
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

std::string bash_completion(std::span<const ShownCommand> commands) {
  std::string out = std::string(kBashFunctions) + kQueueNames + kBashPlace;
  for (const ShownCommand& command : commands) out += command.name + " ";
  out += "help version --help --version\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n";
  for (const ShownCommand& command : commands) add_bash_command(out, command);
  return out + kBashEnd;
}

// ---- zsh ----------------------------------------------------------------------------------------

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
  const bool is_brief = !option.flag.starts_with("--");
  return option.flag + (is_brief ? "+" : "=") + help + ":" + escaped(option.value, ":") + ":" +
         zsh_action(option);
}

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
      if (option.letter.empty() || option.flag == "--help") continue;
      ShownOption brief = option;
      brief.flag = option.letter;
      out += " \\\n            " + quoted_word(zsh_argument(brief));
    }
    out += "\n          ;;\n";
  }
  return out + kZshEnd;
}

// ---- fish ---------------------------------------------------------------------------------------

constexpr const char* kFishFunctions = R"sh(function __millrace_verb
  set -l words (commandline -opc)
  test (count $words) -ge 2; and test $words[2] = $argv[1]
end

# Whether argument N without a flag comes next, or one after it if N ends with +. The verb is the
# first argument, N the second one, and the flags after them have values.
function __millrace_place
  __millrace_verb $argv[1]; or return
  set -l words (commandline -opc)
  set -e words[1..2]
  set -l place 1
  set -l is_value 0
  for word in $words
    if test $is_value = 1
      set is_value 0
    else if string match -q -- '-*' $word
      contains -- $word $argv; and set is_value 1
    else
      set place (math $place + 1)
    end
  end
  if string match -q -- '*+' $argv[2]
    test $place -ge (string trim -c + -- $argv[2])
  else
    test $place -eq $argv[2]
  end
end

# Words of a list, without those that it has already.
function __millrace_list
  set -l given (string split , -- (string replace -r -- '^--[a-z-]+=' '' (commandline -ct)))
  set -e given[-1]
  set -l words
  for word in $argv
    contains -- $word $given; or set -a words $word
  end
  __fish_append , $words
end

function __millrace_queues
  )sh";

constexpr const char* kFishBegin = R"sh(
end

complete -c millrace -f
)sh";

/// Fish has its own escapes in quotes.
std::string fish_word(std::string_view text) {
  return "'" + escaped(text, "'\\") + "'";
}

/// What completes the value; empty: nothing does.
std::string fish_candidates(const ShownOption& option) {
  if (option.is_path) return " -F";
  if (option.hint.is_queue) return " -a '(__millrace_queues)'";
  if (option.hint.words.empty()) return "";
  const std::string words = words_of(option.hint);
  return " -a " + fish_word(option.hint.is_list ? "(__millrace_list " + words + ")" : words);
}

void add_fish_command(std::string& out, const ShownCommand& command) {
  const std::string begin = "complete -c millrace -n ";
  const std::string flag_begin = begin + fish_word("__millrace_verb " + command.name);
  std::string valued;
  for (const ShownOption& option : command.options) {
    if (option.is_positional || option.value.empty()) continue;
    valued += " " + option.flag + (option.letter.empty() ? "" : " " + option.letter);
  }
  int place = 0;
  for (const ShownOption& option : command.options) {
    const std::string candidates = fish_candidates(option);
    if (option.is_positional) {
      const std::string which = std::to_string(++place) + (option.is_repeated ? "+" : "");
      if (candidates.empty()) continue;
      out += begin + fish_word("__millrace_place " + command.name + " " + which + valued) +
             candidates + "\n";
      continue;
    }
    out += flag_begin + " -l " + option.flag.substr(2);
    if (!option.letter.empty()) out += " -s " + option.letter.substr(1);
    if (!option.value.empty()) out += (option.is_path ? " -r" : " -x") + candidates;
    out += " -d " + fish_word(option.help) + "\n";
  }
}

std::string fish_completion(std::span<const ShownCommand> commands) {
  std::string out = std::string(kFishFunctions) + kQueueNames + kFishBegin;
  for (const ShownCommand& command : commands) {
    out += "complete -c millrace -n __fish_use_subcommand -a " + command.name + " -d " +
           fish_word(command.help) + "\n";
    add_fish_command(out, command);
  }
  return out;
}

}  // namespace

Outcome<std::string> completion_for(std::string_view shell,
                                    std::span<const ShownCommand> commands) {
  if (shell == "bash") return bash_completion(commands);
  if (shell == "zsh") return zsh_completion(commands);
  if (shell == "fish") return fish_completion(commands);
  return Problem{"the shell " + cli::must_be(kShells, shell)};
}

}  // namespace millrace::tools
