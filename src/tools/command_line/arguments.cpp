#include "tools/command_line/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/value_hint.hpp"

namespace millrace::tools {
namespace {

std::vector<std::string_view> command_names(const CLI::App& app) {
  std::vector<std::string_view> names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(each->get_name());
  }
  return names;
}

/// What other job servers and their tools call it.
std::string_view habit_of(std::string_view word) {
  using Habit = std::pair<std::string_view, std::string_view>;
  constexpr std::array kHabits = {
      Habit{"kick", "retry"},    Habit{"bury", "kill"},     Habit{"rm", "delete"},
      Habit{"remove", "delete"}, Habit{"purge", "delete"},  Habit{"clear", "delete"},
      Habit{"flush", "delete"},  Habit{"list", "ls"},       Habit{"jobs", "ls"},
      Habit{"enqueue", "push"},  Habit{"reserve", "fetch"}, Habit{"info", "stats"},
      Habit{"show", "peek"},     Habit{"get", "peek"},      Habit{"start", "serve"},
      Habit{"server", "serve"},  Habit{"run", "serve"}};
  const auto* const found = std::ranges::find(kHabits, word, &Habit::first);
  return found == kHabits.end() ? std::string_view() : found->second;
}

}  // namespace

Problem unknown_argument(const CLI::App& app) {
  std::vector<std::string> extras = app.remaining(true);
  std::erase(extras, "--");
  const std::string first = extras.empty() ? "--" : extras.front();
  const auto commands = app.get_subcommands();
  if (commands.empty() && !first.starts_with('-')) {
    std::string_view meant = habit_of(first);
    if (meant.empty()) meant = cli::nearest_word(first, command_names(app));
    return Problem{"'" + first + "' is no command; " +
                   (meant.empty() ? "see millrace --help"
                                  : "did you mean millrace " + std::string(meant) + "?")};
  }
  const std::string command = commands.empty() ? "" : " " + commands.front()->get_name();
  // Those of the command itself are known after it.
  const bool is_early = !commands.empty() && first.starts_with("--") &&
                        commands.front()->get_option_no_throw(first) != nullptr;
  if (is_early) {
    return Problem{first + " belongs after the command: millrace" + command + " " + first};
  }
  return Problem{"'" + first + "' is not a known argument; see millrace" + command + " --help"};
}

Outcome<Done> check_repetition(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() > 1 && !option->get_positional())
        return Problem{option->get_name() + " may be given only once"};
    }
  }
  return Done{};
}

Outcome<Done> check_values(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    const std::string& name = command->get_name();
    if (name != "backup" && name != "restore" && name != "import" && name != "export") continue;
    for (const CLI::Option* option : command->get_options()) {
      const bool is_empty = option->count() > 0 && option->results().front().empty();
      if (is_empty) return Problem{option->get_name() + " must not be empty"};
    }
  }
  return Done{};
}

}  // namespace millrace::tools
