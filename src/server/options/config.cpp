#include "server/options/config.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "base/text.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/verb_rows.hpp"
#include "server/backup/backup_options.hpp"
#include "server/export/export_options.hpp"
#include "server/import/faktory/faktory_source.hpp"
#include "server/import/import_options.hpp"
#include "server/options/config_check.hpp"
#include "server/options/config_file.hpp"
#include "server/options/config_in_force.hpp"
#include "server/options/config_tables.hpp"
#include "server/options/option_rows.hpp"
#include "server/options/password.hpp"
#include "server/options/shell/arguments.hpp"
#include "server/options/shell/completion.hpp"
#include "server/options/shell/help_format.hpp"
#include "server/options/shell/man_page.hpp"
#include "server/peers/named_server.hpp"
#include "server/peers/peer_addresses.hpp"
#include "server/process/version.hpp"

namespace millrace::server {
namespace {

constexpr const char* kFooter =
    "ADDR is HOST:PORT, :PORT (every address, IPv6 and IPv4), [IPV6]:PORT or unix:PATH. Sizes are "
    "in bytes, without a unit. Every option is also an environment variable (MILLRACE_DATA) and, "
    "except --config and --conf-dir, a key of the config file (data = \"/var/lib/millrace\"). "
    "Flags "
    "win over the environment, and the environment wins over the file. FAKTORY_PASSWORD holds the "
    "password, or the path of its file if it begins with '/'.\n"
    "Exit status 0: SIGTERM or Ctrl-C ended it. 1: it did not start, or has failed. 2: wrong "
    "arguments.";

constexpr const char* kCheckFooter =
    "Exit status 0: nothing is damaged; a torn tail is no damage. 1: the command failed. 2: wrong "
    "arguments. 4: the journal is damaged; with --salvage, everything else was copied.";

constexpr const char* kPrintFooter =
    "Exit status 0: printed. 1: the output could not be written. 2: wrong arguments.";

constexpr const char* kMoveFooter =
    "Exit status 0: moved. 1: not, or not all: the same command goes on. 2: wrong arguments.";

constexpr std::string_view kVariableStart = "MILLRACE_";
/// What tells verbs where the server is, and its password. They mean nothing to `serve`.
constexpr const char* kPasswordVariable = "MILLRACE_PASSWORD";

std::string variable_of(std::string_view name) {
  std::string variable(kVariableStart);
  for (const char c : name) {
    variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return variable;
}

/// Whether the option is about the engine of a shared log.
bool is_of_engine(const OptionRow& row) {
  const std::string_view name = row.name;
  return name == "log" || name.starts_with("log-") || name == "allow-unsynced-log";
}

/// The command line and the environment, as CLI11 reads them. CLI11 keeps the addresses of the
/// members, so this is not copied.
struct Parser {
  CLI::App app{"Millrace: one job server for beanstalk and Faktory clients", "millrace"};
  /// Before the commands are made, which take it over.
  CLI::App* formatted = app.formatter(help_format());
  CLI::App* serve = app.add_subcommand("serve", "Serve clients until SIGTERM");
  CLI::App* check =
      app.add_subcommand("check", "Show what a journal holds, and where it is damaged");
  BackupTexts backup_texts;
  CLI::App* backup = add_backup_command(app, backup_texts);
  CLI::App* restore = add_restore_command(app, backup_texts);
  CLI::App* move_to_log = app.add_subcommand(
      "move-to-log", "Move the jobs of a stopped server to a log that several servers share");
  CLI::App* move_to_file = app.add_subcommand(
      "move-to-file", "Move the jobs of a shared log, whose servers are stopped, to one server");
  ImportChoice import_choice;
  CLI::App* import = add_import_command(app, import_choice);
  ExportChoice export_choice;
  CLI::App* export_jobs = add_export_command(app, export_choice);
  cli::CommandLine verbs{app};
  CLI::App* completion = app.add_subcommand(
      "completion", "Print what lets a shell complete commands, flags and values");
  CLI::App* man = app.add_subcommand("man", "Print the manual page");
  std::string shell;
  std::string directory;
  std::string target;
  bool is_again = false;
  std::array<std::string, kOptionRows.size()> texts;
  std::array<CLI::Option*, kOptionRows.size()> options{};
  std::string config_file;
  std::string config_folder;

  Parser() {
    app.set_version_flag("-V,--version", version_text());
    app.require_subcommand(0, 1);
    // CLI11 refuses repeated flags and switches in different words: `check_repetition` refuses
    // both.
    for (CLI::App* command : {serve, check, move_to_log, move_to_file, import}) {
      command->option_defaults()->take_last();
    }
    serve->footer(kFooter);
    for (std::size_t i = 0; i < kOptionRows.size(); ++i) {
      options[i] = add(*serve, kOptionRows[i]);
    }
    serve->add_option("--config", config_file, "Config file (TOML)")
        ->type_name("FILE")
        ->envname("MILLRACE_CONFIG");
    serve
        ->add_option(
            "--conf-dir", config_folder,
            "Directory whose *.toml have [[cron]], [throttles] and [statsd] (default: conf.d "
            "beside the config file)")
        ->type_name("DIR")
        ->envname("MILLRACE_CONF_DIR");
    check->add_option("DIR", directory, "The data directory; it is not changed")
        ->required()
        ->type_name("");
    add_move(*move_to_log, "The data directory; its jobs stay in it too, and are not served");
    add_move(*move_to_file, "A new directory, or that of a stopped node");
    move_to_file->add_flag("--again", is_again, "Even if the jobs were moved before");
    completion->add_option("SHELL", shell, cli::listed(kShells))->required()->type_name("");
    completion->footer(kPrintFooter);
    man->footer(kPrintFooter);
    check->footer(kCheckFooter);
    check
        ->add_option("--salvage", target,
                     "Copy everything that is not damaged to this new directory")
        ->type_name("NEWDIR");
  }

  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

 private:
  CLI::Option* add(CLI::App& command, const OptionRow& row) {
    std::string& text = texts[static_cast<std::size_t>(&row - kOptionRows.data())];
    const std::string flag = std::string("--") + row.name;
    CLI::Option* const option =
        row.value == nullptr ? command.add_flag(flag, text, row.help)
                             : command.add_option(flag, text, row.help)->type_name(row.value);
    return option->envname(variable_of(row.name));
  }

  void add_move(CLI::App& command, const char* help) {
    command.add_option("DIR", directory, help)->required()->type_name("");
    for (const OptionRow& row : kOptionRows) {
      if (is_of_engine(row)) add(command, row);
    }
    command.footer(kMoveFooter);
  }
};

/// CLI11's messages may have several lines. An error of ours has one.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

Invocation refuse(const std::string& text) {
  return {.action = Invocation::Action::kRefuse, .config = {}, .text = first_line(text)};
}

Invocation print(std::string text) {
  return {.action = Invocation::Action::kPrint, .config = {}, .text = std::move(text)};
}

/// Suggests the key that was meant: other programs write `max_connections`.
Problem unknown_key(const std::string& name) {
  std::string meant = lower_case(name);
  std::replace(meant.begin(), meant.end(), '_', '-');
  const bool is_key = std::any_of(kOptionRows.begin(), kOptionRows.end(),
                                  [&](const OptionRow& row) { return meant == row.name; });
  return Problem{"unknown key '" + name + "'" + (is_key ? "; did you mean '" + meant + "'?" : "")};
}

Outcome<Done> apply_setting(const Setting& setting, const Parser& parser, Config& config) {
  for (std::size_t i = 0; i < kOptionRows.size(); ++i) {
    if (setting.path.size() != 1 || setting.path.front() != kOptionRows[i].name) continue;
    if (parser.options[i]->count() > 0) return Done{};
    const bool has_value =
        setting.kind == Setting::Kind::kString || setting.kind == Setting::Kind::kPlain;
    if (!has_value) {
      return Problem{setting.shown_name() + " needs one text or whole number, or true or false"};
    }
    const Outcome<Done> applied = kOptionRows[i].apply(config, setting.text);
    if (!applied) return Problem{setting.shown_name() + ": " + applied.error().text};
    return Done{};
  }
  return unknown_key(setting.shown_name());
}

Outcome<Done> apply_file(const Parser& parser, const ConfigDocument& file, Config& config) {
  for (const Setting& setting : file.settings()) {
    const std::string& top = setting.path.front();
    if (is_table(top) || is_foreign_table(top)) continue;
    const Outcome<Done> applied = apply_setting(setting, parser, config);
    if (!applied) return Problem{setting.place + ": " + one_line(applied.error().text, 500)};
  }
  note_ignored(
      file, [](std::string_view key) { return !is_foreign_table(key); }, config);
  return Done{};
}

/// The file of --config has options, those of the folder have tables only.
Outcome<Done> apply_files(const Parser& parser, Config& config) {
  const auto read = read_documents(parser.config_file, parser.config_folder);
  if (!read) return read.error();
  std::span<const ConfigDocument> folder = *read;
  if (!parser.config_file.empty()) {
    if (auto applied = apply_file(parser, folder.front(), config); !applied) return applied;
    folder = folder.subspan(1);
  }
  for (const ConfigDocument& document : folder) note_ignored(document, is_table, config);
  return apply_tables(*read, config);
}

Outcome<Done> apply_flags(const Parser& parser, Config& config) {
  for (std::size_t i = 0; i < kOptionRows.size(); ++i) {
    if (parser.options[i]->count() == 0) continue;
    const Outcome<Done> applied = kOptionRows[i].apply(config, parser.texts[i]);
    if (!applied)
      return Problem{std::string("--") + kOptionRows[i].name + ": " + applied.error().text};
  }
  return Done{};
}

void apply_faktory_password(Config& config) {
  const char* text = std::getenv("FAKTORY_PASSWORD");
  if (text == nullptr || !config.password_file.empty()) return;
  (*text == '/' ? config.password_file : config.password) = text;
}

/// Sorted names. The values are left out, since they may be secrets.
std::vector<std::string> unknown_variables(const Parser& parser) {
  const auto options = parser.serve->get_options();
  std::vector<std::string> unknown;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    if (name == kUrlVariable || name == kPasswordVariable) continue;
    const bool is_known = std::ranges::any_of(
        options, [=](const CLI::Option* option) { return option->get_envname() == name; });
    if (name.starts_with(kVariableStart) && !is_known) unknown.emplace_back(name);
  }
  std::sort(unknown.begin(), unknown.end());
  return unknown;
}

Invocation read_serve(const Parser& parser) {
  Invocation invocation{.action = Invocation::Action::kServe, .config = {}, .text = {}};
  Config& config = invocation.config;
  if (const auto applied = apply_files(parser, config); !applied) {
    return refuse(applied.error().text);
  }
  if (const auto applied = apply_flags(parser, config); !applied) {
    return refuse(applied.error().text);
  }
  apply_faktory_password(config);
  config.handover = read_handover();
  invocation.unknown_variables = unknown_variables(parser);
  if (const auto checked = check_together(config); !checked) return refuse(checked.error().text);
  return invocation;
}

Invocation read_move(const Parser& parser, const CLI::App& command, Invocation::Action action) {
  Invocation invocation{.action = action, .config = {}, .text = {}};
  for (std::size_t i = 0; i < kOptionRows.size(); ++i) {
    const OptionRow& row = kOptionRows[i];
    if (!is_of_engine(row)) continue;
    const std::string flag = std::string("--") + row.name;
    if (command.get_option(flag)->count() == 0) continue;
    const Outcome<Done> applied = row.apply(invocation.config, parser.texts[i]);
    if (!applied) return refuse(flag + ": " + applied.error().text);
  }
  invocation.config.data = parser.directory;
  invocation.config.moves_again = parser.is_again;
  if (invocation.config.log.empty()) return refuse("--log is required");
  if (const auto checked = check_engine(invocation.config); !checked) {
    return refuse(checked.error().text);
  }
  return invocation;
}

Invocation read_directories(const Parser& parser, Invocation::Action action) {
  return {.action = action, .config = {}, .text = parser.directory, .target = parser.target};
}

Invocation read_backup(const BackupTexts& texts) {
  auto choice = backup_of(texts);
  if (!choice) return refuse(choice.error().text);
  return {.action = Invocation::Action::kBackUp, .config = {}, .text = {}, .backup = *choice};
}

Invocation read_restore(const BackupTexts& texts) {
  auto choice = restore_of(texts);
  if (!choice) return refuse(choice.error().text);
  return {.action = Invocation::Action::kRestore, .config = {}, .text = {}, .restore = *choice};
}

Invocation read_import(ImportChoice choice) {
  if (const auto checked = check_import(choice); !checked) return refuse(checked.error().text);
  if (!choice.from.empty() && !parse_beanstalk_address(choice.from)) {
    return refuse("--from: not beanstalk://HOST[:PORT]");
  }
  // A path that is missing is no wrong argument.
  if (choice.faktory.find("://") != std::string::npos || choice.faktory == "unix:") {
    const auto source = parse_faktory_source(choice.faktory);
    if (!source) return refuse(source.error().text);
  }
  choice.redis_password = environment_variable("REDISCLI_AUTH").value_or("");
  choice.search_path = environment_variable("PATH").value_or(choice.search_path);
  choice.temporary_folder = environment_variable("TMPDIR").value_or(choice.temporary_folder);
  return {.action = Invocation::Action::kImport, .config = {}, .text = {}, .import = choice};
}

Invocation read_export(ExportChoice choice) {
  if (const auto checked = check_export(choice); !checked) return refuse(checked.error().text);
  choice.password = environment_variable("FAKTORY_PASSWORD").value_or("");
  return {.action = Invocation::Action::kExport, .config = {}, .text = {}, .exported = choice};
}

/// Whether a person wants colors, and whether the terminal has them.
bool wants_colors() {
  return environment_variable("NO_COLOR").value_or("").empty() &&
         environment_variable("TERM").value_or("") != "dumb";
}

/// `--type=` has no value: CLI11 would take the next argument for it.
std::optional<std::string> flag_without_value(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument.starts_with("--") && argument.find('=') + 1 == argument.size()) return argument;
  }
  return std::nullopt;
}

Invocation read_ask(const cli::CommandLine& verbs, const std::vector<std::string>& arguments) {
  if (const auto flag = flag_without_value(arguments)) return refuse(*flag + " needs a value");
  Outcome<cli::Choice> choice = verbs.choice();
  if (!choice) return refuse(choice.error().text);
  if (auto taken = take_server(*choice); !taken) return refuse(taken.error().text);
  if (auto checked = check_ca(*choice); !checked) return refuse(checked.error().text);
  std::string warning;
  if (!choice->password_file.empty()) {
    const auto file = read_password_file(choice->password_file);
    if (!file) return refuse(file.error().text);
    choice->password = file->password;
    // `doctor` has it among its findings.
    const bool is_told = file->is_readable_by_all && (choice->verb->groups & cli::kDoctor) == 0;
    if (is_told) warning = "every user of this machine can read " + choice->password_file;
  } else if (choice->url.password.empty()) {
    choice->password = environment_variable(kPasswordVariable).value_or("");
  }
  choice->has_colors = wants_colors();
  return {.action = Invocation::Action::kAsk,
          .config = {},
          .text = std::move(warning),
          .ask = std::move(*choice)};
}

/// `help`, `help COMMAND` and `version` mean the flags of these names.
std::vector<std::string> as_flags(std::vector<std::string> arguments) {
  if (arguments.size() == 1 && arguments.front() == "version") return {"--version"};
  if (arguments.empty() || arguments.front() != "help" || arguments.size() > 2) return arguments;
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
  return arguments;
}

Invocation print_completion(const Parser& parser) {
  auto text = completion_for(parser.shell, shown_commands(parser.app));
  return text ? print(std::move(*text)) : refuse(text.error().text);
}

}  // namespace

std::vector<std::string> options_for_restart(const Config& started, const Config& wanted) {
  std::vector<std::string> names;
  for (const OptionRow& row : kOptionRows) {
    if (!row.is_same(started, wanted)) names.emplace_back(row.name);
  }
  return names;
}

std::optional<std::string> environment_variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

Handover read_handover() {
  return {.pid = environment_variable("LISTEN_PID").value_or(""),
          .count = environment_variable("LISTEN_FDS").value_or(""),
          .names = environment_variable("LISTEN_FDNAMES").value_or(""),
          .notify_socket = environment_variable("NOTIFY_SOCKET").value_or(""),
          .watchdog_usec = environment_variable("WATCHDOG_USEC").value_or(""),
          .watchdog_pid = environment_variable("WATCHDOG_PID").value_or("")};
}

Invocation read_invocation(const std::vector<std::string>& given) {
  Parser parser;
  const std::vector<std::string> arguments = as_flags(given);
  try {
    // CLI11 expects the arguments in reverse order.
    parser.app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return print(parser.app.help());
  } catch (const CLI::CallForVersion& version) {
    return print(std::string(version.what()) + "\n");
  } catch (const CLI::ExtrasError&) {
    return refuse(unknown_argument(parser.app).text);
  } catch (const CLI::ArgumentMismatch& error) {
    // CLI11 says "--data: 1 required DIR missing".
    const std::string_view text = error.what();
    return refuse(std::string(text.substr(0, text.find(':'))) + " needs a value");
  } catch (const CLI::Error& error) {
    return refuse(error.what());
  }
  for (const auto& checked : {check_repetition(parser.app), check_values(parser.app)}) {
    if (!checked) return refuse(checked.error().text);
  }
  if (parser.check->parsed()) return read_directories(parser, Invocation::Action::kCheck);
  if (parser.backup->parsed()) return read_backup(parser.backup_texts);
  if (parser.restore->parsed()) return read_restore(parser.backup_texts);
  if (parser.move_to_log->parsed()) {
    return read_move(parser, *parser.move_to_log, Invocation::Action::kMoveToLog);
  }
  if (parser.move_to_file->parsed()) {
    return read_move(parser, *parser.move_to_file, Invocation::Action::kMoveToFile);
  }
  if (parser.import->parsed()) return read_import(parser.import_choice);
  if (parser.export_jobs->parsed()) return read_export(parser.export_choice);
  if (parser.verbs.is_given()) return read_ask(parser.verbs, arguments);
  if (parser.completion->parsed()) return print_completion(parser);
  if (parser.man->parsed()) return print(man_page(shown_commands(parser.app)));
  if (!parser.serve->parsed()) {
    return refuse("a command is missing, for example serve; see millrace --help");
  }
  return read_serve(parser);
}

}  // namespace millrace::server
