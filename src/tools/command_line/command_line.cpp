#include "tools/command_line/command_line.hpp"

#include "cli/options/verb_rows.hpp"
#include "server/options/option_rows.hpp"
#include "tools/command_line/command_pages.hpp"

namespace millrace::tools {
namespace {

bool is_path(std::string_view value) {
  return value == "FILE" || value == "DIR" || value == "NEWDIR" || value == "DEST" ||
         value == "DATA" || value == "TARGET" || value == "BACKUP" || value == "SOURCE";
}

cli::ValueHint hint_of_verb(const cli::VerbRow& verb, std::string_view flag) {
  for (const cli::VerbWord& word : verb.words) {
    if (word.name != nullptr && flag == word.name) return word.hint;
  }
  for (const cli::VerbOption& option : cli::verb_options()) {
    const bool is_here = (option.groups & verb.groups) != 0;
    if (is_here && flag == std::string("--") + option.name) return option.hint;
  }
  return {};
}

/// What the tables say of the value.
cli::ValueHint hint_of(std::string_view command, std::string_view flag) {
  for (const cli::VerbRow& verb : cli::verb_rows()) {
    if (command == verb.name) return hint_of_verb(verb, flag);
  }
  if (command == "completion" && flag == "SHELL") return {.words = kShells};
  if (command != "serve" && command != "config") return {};
  for (const server::OptionRow& row : server::kOptionRows) {
    if (flag == std::string("--") + row.name) return row.hint;
  }
  return {};
}

ShownOption shown_option(const std::string& command, const CLI::Option& option) {
  ShownOption shown;
  shown.is_positional = option.get_positional();
  shown.is_optional = shown.is_positional && !option.get_required();
  shown.is_repeated = shown.is_positional && option.get_expected_max() > 1;
  shown.flag = shown.is_positional ? option.get_name(true) : "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) shown.letter = "-" + option.get_snames().front();
  if (option.get_expected_min() > 0) shown.value = option.get_type_name();
  shown.help = option.get_description();
  shown.is_path = is_path(shown.is_positional ? shown.flag : shown.value);
  shown.hint = hint_of(command, shown.flag);
  return shown;
}

}  // namespace

std::vector<ShownCommand> shown_commands(const CLI::App& app) {
  std::vector<ShownCommand> commands;
  for (const CommandPage& page : command_pages()) {
    const CLI::App* const command = app.get_subcommand(std::string(page.name));
    ShownCommand shown{.name = command->get_name(),
                       .help = command->get_description(),
                       .footer = command->get_footer(),
                       .options = {},
                       .examples = {page.examples.begin(), page.examples.end()}};
    for (const CLI::Option* option : command->get_options()) {
      shown.options.push_back(shown_option(shown.name, *option));
    }
    commands.push_back(std::move(shown));
  }
  return commands;
}

}  // namespace millrace::tools
