#include "server/options/serve_command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <span>

#include "base/text.hpp"
#include "server/options/config.hpp"
#include "server/options/config_tables.hpp"

namespace millrace::server {
namespace {

constexpr const char* kFooter =
    "ADDR is HOST:PORT, :PORT (every address, IPv6 and IPv4), [IPV6]:PORT or unix:PATH. Sizes are "
    "in bytes, or have a unit: 64KiB, 2GB. Every option is also an environment variable "
    "(MILLRACE_DATA) and, "
    "except --config and --conf-dir, a key of the config file (data = \"/var/lib/millrace\"). "
    "Flags "
    "win over the environment, and the environment wins over the file. FAKTORY_PASSWORD holds the "
    "password, or the path of its file if it begins with '/'.\n"
    "Exit status 0: SIGTERM or Ctrl-C ended it. 1: it did not start, or has failed. 2: wrong "
    "arguments or configuration, such as a password file or certificate that cannot be read.";

constexpr std::string_view kVariableStart = "MILLRACE_";

std::string variable_of(std::string_view name) {
  std::string variable(kVariableStart);
  for (const char c : name) {
    variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return variable;
}

/// Suggests the key that was meant: other programs write `max_connections`.
Problem unknown_key(const std::string& name) {
  std::string meant = lower_case(name);
  std::replace(meant.begin(), meant.end(), '_', '-');
  const bool is_key = std::any_of(kOptionRows.begin(), kOptionRows.end(),
                                  [&](const OptionRow& row) { return meant == row.name; });
  return Problem{"unknown key '" + name + "'" + (is_key ? "; did you mean '" + meant + "'?" : "")};
}

/// Whether the value is of the type that the option has. Any option takes a text, as the flag does,
/// and names may be numbers; a path or an address that is one lacks its quotes.
Outcome<Done> check_type(const Setting& setting, const OptionRow& row) {
  constexpr std::array<std::string_view, 6> kNumbers = {"N",  "N[,AGE]", "BYTES",
                                                        "MS", "TIME",    "MODE"};
  constexpr std::array<std::string_view, 3> kNames = {"NAME", "TEXT", "NAME[:COLOR]"};
  const bool is_switch = row.value == nullptr;
  const auto is_one_of = [&](const auto& values) {
    return !is_switch && std::ranges::find(values, row.value) != values.end();
  };
  const bool is_number = is_one_of(kNumbers);
  if (setting.kind == Setting::Kind::kString) return Done{};
  if (setting.kind == Setting::Kind::kBoolean && is_switch) return Done{};
  const bool takes_number = is_number || is_switch || is_one_of(kNames);
  if (setting.kind == Setting::Kind::kNumber && takes_number) return Done{};
  const char* const type = is_switch   ? "true or false"
                           : is_number ? "a whole number, or a text in quotes"
                                       : "a text in quotes";
  return Problem{setting.shown_name() + " must be " + type};
}

/// An empty one is a mistake: whoever sets it wants a password.
Outcome<Done> apply_faktory_password(Config& config) {
  const char* text = std::getenv("FAKTORY_PASSWORD");
  if (text == nullptr || !config.password_file.empty()) return Done{};
  if (*text == '\0')
    return Problem{"FAKTORY_PASSWORD is empty: set a password, or unset it to run without one"};
  (*text == '/' ? config.password_file : config.password) = text;
  return Done{};
}

/// The variable of the commands, taken for that of the server.
void note_password_of_commands(Config& config) {
  if (std::getenv(kPasswordVariable) == nullptr) return;
  if (!config.password.empty() || !config.password_file.empty()) return;
  config.ignored_keys.push_back({.key = kPasswordVariable, .place = "environment"});
}

}  // namespace

CLI::Option* add_option(CLI::App& command, const OptionRow& row, std::string& text) {
  const std::string flag = std::string("--") + row.name;
  CLI::Option* const option = row.value == nullptr
                                  ? command.add_flag(flag, text, row.help)
                                  : command.add_option(flag, text, row.help)->type_name(row.value);
  return option->envname(variable_of(row.name));
}

ServeCommand::ServeCommand(CLI::App& app, const char* name, const char* help)
    : command_(app.add_subcommand(name, help)) {
  // CLI11 refuses repeated flags and switches in different words.
  command_->option_defaults()->take_last();
  command_->footer(kFooter);
  for (std::size_t i = 0; i < kOptionRows.size(); ++i) {
    options_[i] = add_option(*command_, kOptionRows[i], texts_[i]);
  }
  command_->add_option("--config", config_file_, "Config file (TOML)")
      ->type_name("FILE")
      ->envname("MILLRACE_CONFIG");
  command_
      ->add_option(
          "--conf-dir", config_folder_,
          "Directory whose *.toml have [[cron]], [throttles] and [statsd] (default: conf.d "
          "beside the config file)")
      ->type_name("DIR")
      ->envname("MILLRACE_CONF_DIR");
}

bool ServeCommand::is_given() const {
  return command_->parsed();
}

Outcome<Done> ServeCommand::apply_setting(const Setting& setting, Config& config) const {
  for (std::size_t i = 0; i < kOptionRows.size(); ++i) {
    if (setting.path.size() != 1 || setting.path.front() != kOptionRows[i].name) continue;
    if (options_[i]->count() > 0) return Done{};
    if (auto checked = check_type(setting, kOptionRows[i]); !checked) return checked;
    const Outcome<Done> applied = kOptionRows[i].apply(config, setting.text);
    if (!applied) return Problem{setting.shown_name() + ": " + applied.error().text};
    return Done{};
  }
  return unknown_key(setting.shown_name());
}

Outcome<Done> ServeCommand::apply_file(const ConfigDocument& file, Config& config) const {
  for (const Setting& setting : file.settings()) {
    const std::string& top = setting.path.front();
    if (is_table(top) || is_foreign_table(top)) continue;
    const Outcome<Done> applied = apply_setting(setting, config);
    if (!applied) return Problem{setting.place + ": " + one_line(applied.error().text, 500)};
  }
  note_ignored(
      file, [](std::string_view key) { return !is_foreign_table(key); }, config);
  return Done{};
}

/// The file of --config has options, those of the folder have tables only.
Outcome<Done> ServeCommand::apply_files(ConfigFile kind, Config& config) const {
  const auto read = read_documents(config_file_, config_folder_, kind);
  if (!read) return read.error();
  std::span<const ConfigDocument> folder = *read;
  if (!config_file_.empty()) {
    if (auto applied = apply_file(folder.front(), config); !applied) return applied;
    folder = folder.subspan(1);
  }
  for (const ConfigDocument& document : folder) note_ignored(document, is_table, config);
  return apply_tables(*read, config);
}

Outcome<Done> ServeCommand::apply_flags(Config& config) const {
  for (std::size_t i = 0; i < kOptionRows.size(); ++i) {
    if (options_[i]->count() == 0) continue;
    const Outcome<Done> applied = kOptionRows[i].apply(config, texts_[i]);
    if (!applied)
      return Problem{std::string("--") + kOptionRows[i].name + ": " + applied.error().text};
  }
  return Done{};
}

/// Sorted names. The values are left out, since they may be secrets.
std::vector<std::string> ServeCommand::unknown_variables() const {
  const auto options = command_->get_options();
  std::vector<std::string> unknown;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    if (name == kUrlVariable || name == kPasswordVariable || name == kTokenVariable) continue;
    const bool is_known = std::ranges::any_of(
        options, [=](const CLI::Option* option) { return option->get_envname() == name; });
    if (name.starts_with(kVariableStart) && !is_known) unknown.emplace_back(name);
  }
  std::sort(unknown.begin(), unknown.end());
  return unknown;
}

Outcome<ServeChoice> ServeCommand::read(ConfigFile kind) const {
  ServeChoice choice;
  Config& config = choice.config;
  if (auto applied = apply_files(kind, config); !applied) return applied.error();
  if (auto applied = apply_flags(config); !applied) return applied.error();
  if (auto applied = apply_faktory_password(config); !applied) return applied.error();
  note_password_of_commands(config);
  config.handover = read_handover();
  choice.unknown_variables = unknown_variables();
  if (auto checked = check_together(config); !checked) return checked.error();
  return choice;
}

}  // namespace millrace::server
