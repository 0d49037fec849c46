#include "tools/command_line/completion_parts.hpp"

namespace millrace::tools {
namespace {

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
    valued += " " + option.flag;
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
    if (!option.value.empty()) out += (option.is_path ? " -r" : " -x") + candidates;
    out += " -d " + fish_word(option.help) + "\n";
  }
}

}  // namespace

std::string fish_completion(std::span<const ShownCommand> commands) {
  std::string out = std::string(kFishFunctions) + kQueueNames + kFishBegin;
  for (const ShownCommand& command : commands) {
    out += "complete -c millrace -n __fish_use_subcommand -a " + command.name + " -d " +
           fish_word(command.help) + "\n";
    add_fish_command(out, command);
  }
  return out;
}

}  // namespace millrace::tools
