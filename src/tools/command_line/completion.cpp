#include "tools/command_line/completion.hpp"

#include "tools/command_line/completion_parts.hpp"

namespace millrace::tools {

std::string quoted_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
  return out + "'";
}

std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string words_of(const cli::ValueHint& hint) {
  std::string all;
  for (const std::string_view word : hint.words) {
    if (!all.empty()) all += ' ';
    all += word;
  }
  return all;
}

Outcome<std::string> completion_for(std::string_view shell,
                                    std::span<const ShownCommand> commands) {
  if (shell == "bash") return bash_completion(commands);
  if (shell == "zsh") return zsh_completion(commands);
  if (shell == "fish") return fish_completion(commands);
  return Problem{"the shell " + cli::must_be(kShells, shell)};
}

}  // namespace millrace::tools
