#include "server/options/shell/command_line.hpp"

namespace millrace::server {
namespace {

bool is_path(std::string_view value) {
  return value == "FILE" || value == "DIR" || value == "NEWDIR" || value == "DEST" ||
         value == "DATA" || value == "TARGET" || value == "BACKUP";
}

ShownOption shown_option(const CLI::Option& option) {
  ShownOption shown;
  shown.is_positional = option.get_positional();
  shown.is_optional = shown.is_positional && !option.get_required();
  shown.is_repeated = shown.is_positional && option.get_expected_max() > 1;
  shown.flag = shown.is_positional ? option.get_name(true) : "--" + option.get_lnames().front();
  if (option.get_expected_min() > 0) shown.value = option.get_type_name();
  shown.help = option.get_description();
  shown.is_path = is_path(shown.is_positional ? shown.flag : shown.value);
  return shown;
}

}  // namespace

std::vector<ShownCommand> shown_commands(const CLI::App& app) {
  std::vector<ShownCommand> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    ShownCommand shown{.name = command->get_name(),
                       .help = command->get_description(),
                       .footer = command->get_footer(),
                       .options = {}};
    for (const CLI::Option* option : command->get_options()) {
      shown.options.push_back(shown_option(*option));
    }
    commands.push_back(std::move(shown));
  }
  return commands;
}

}  // namespace millrace::server
