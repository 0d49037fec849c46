#include "tools/command_line/invocation.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/text.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/verb_rows.hpp"
#include "cli/show/width.hpp"
#include "cli/value_hint.hpp"
#include "http/kit/guard.hpp"
#include "server/options/config.hpp"
#include "server/options/option_rows.hpp"
#include "server/options/password.hpp"
#include "server/options/serve_command.hpp"
#include "server/process/process.hpp"
#include "tools/backup/backup.hpp"
#include "tools/command_line/command_line.hpp"
#include "tools/command_line/command_pages.hpp"
#include "tools/import/faktory/faktory_source.hpp"
#include "tools/peers/named_server.hpp"
#include "tools/peers/peer_addresses.hpp"

namespace millrace::tools {
namespace {

using server::kOptionRows;

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

/// Of arguments that no command knows. Names the first one: CLI11 would name all of them, the last
/// one first.
Problem unknown_argument(const CLI::App& app) {
  std::vector<std::string> extras = app.remaining(true);
  std::erase(extras, "--");
  const std::string first = extras.empty() ? "--" : extras.front();
  const auto commands = app.get_subcommands();
  if (commands.empty() && !first.starts_with('-')) {
    std::string_view meant = habit_of(first);
    if (meant.empty()) meant = cli::nearest_word(first, command_names(app));
    return Problem{"'" + first + "' is not a command; " +
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

/// No option is given twice.
Outcome<Done> check_repetition(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() > 1 && !option->get_positional())
        return Problem{option->get_name() + " may be given only once"};
    }
  }
  return Done{};
}

/// An option of a tool that works on files has a value: an empty one is a variable of a script that
/// is not set, and must not mean that the option was not given.
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

/// `export` and `import` work with the directory of a stopped server, or ask one that runs. Refuses
/// an option of the other kind; those with a variable may come from the environment.
Outcome<Done> check_kind(const CLI::App& command, bool asks) {
  for (const CLI::Option* option : command.get_options()) {
    const bool is_given = option->count() > 0 && option->get_envname().empty();
    const std::string& name = option->get_name();
    const bool is_both = name == "--to" || name == "--ca";
    const bool is_of_verb = cli::has_option(command.get_name(), name);
    if (!is_given || is_both || is_of_verb == asks) continue;
    return Problem{name + (asks ? " is for the directory of a stopped server"
                                : " is for jobs of a running server")};
  }
  return Done{};
}

constexpr std::size_t kHelpColumns = 80;

class HelpFormat : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_option_desc(const CLI::Option* option) const override {
    return cli::broken_text(option->get_description(), kHelpColumns - get_column_width());
  }

  [[nodiscard]] std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(
        out, command->get_display_name(true),
        cli::broken_text(command->get_description(), kHelpColumns - get_column_width()),
        get_column_width());
    return out.str();
  }

  /// In groups, the common ones first.
  [[nodiscard]] std::string make_subcommands(const CLI::App* app,
                                             CLI::AppFormatMode) const override {
    std::string out;
    std::string_view group;
    if (app->get_parent() != nullptr) return out;
    for (const CommandPage& page : command_pages()) {
      if (group != page.group) out += std::string("\n") + page.group + ":\n";
      group = page.group;
      out += make_subcommand(app->get_subcommand(std::string(page.name)));
    }
    return out + "\n";
  }

  /// Examples, then paragraphs of one line each.
  [[nodiscard]] std::string make_footer(const CLI::App* app) const override {
    const std::string footer = app->get_footer();
    std::string out;
    if (const CommandPage* const page = find_page(app->get_name()); page != nullptr) {
      out += "Examples:\n";
      for (const char* example : page->examples) out += std::string("  ") + example + "\n";
      out += "\n";
    }
    for (std::string_view rest = footer; !rest.empty();) {
      out += cli::broken_text(take_line(rest), kHelpColumns) + "\n";
    }
    return out;
  }
};

/// How `--help` looks: as CLI11 does it, with all texts broken at blanks to fit into a terminal of
/// 80 columns.
// CLI11 wants it so.
std::shared_ptr<CLI::FormatterBase> help_format() {
  // It is that of all commands.
  return std::make_shared<HelpFormat>();
}

constexpr const char* kCheckFooter =
    "Exit status 0: nothing is damaged; a torn tail is not damage. 1: the command failed. 2: wrong "
    "arguments. 4: the journal is damaged; with --salvage, everything else was copied.";

constexpr const char* kConfigFooter =
    "Exit status 0: a server would take it. 1: the output could not be written. 2: it would not, "
    "and the message says why.";

constexpr const char* kPrintFooter =
    "Exit status 0: printed. 1: the output could not be written. 2: wrong arguments.";

constexpr std::array<std::string_view, 4> kUsersActions = {"check", "list", "explain", "hash"};
constexpr const char* kUsersFooter =
    "hash reads a password from stdin and prints the text for web-password. In explain, QUEUE may "
    "be '*': all queues. Exit status 0: done. 2: wrong arguments, or a mistake in the file.";

constexpr const char* kMoveFooter =
    "Exit status 0: moved. 1: not, or not all: the same command goes on. 2: wrong arguments.";

/// Whether the option is about the engine of a shared log.
bool is_of_engine(const server::OptionRow& row) {
  const std::string_view name = row.name;
  return name == "log" || (name.starts_with("log-") && name != "log-format") ||
         name == "allow-unsynced-log";
}

/// The command line and the environment, as CLI11 reads them. CLI11 keeps the addresses of the
/// members, so this is not copied.
struct Parser {
  CLI::App app{"Millrace: one job server for beanstalk and Faktory clients", "millrace"};
  /// Before the commands are made, which take it over.
  CLI::App* formatted = app.formatter(help_format());
  server::ServeCommand serve{app, "serve", "Serve clients until SIGTERM"};
  server::ServeCommand config{
      app, "config", "Check flags, environment, config files, password and certificates of serve"};
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
  UsersChoice users_choice;
  CLI::App* users =
      app.add_subcommand("users", "Check, list and explain a users file; hash a password");
  CLI::App* completion = app.add_subcommand("completion", "Print a shell completion script");
  CLI::App* man = app.add_subcommand("man", "Print the manual page");
  std::string action;
  std::string shell;
  std::string directory;
  std::string target;
  bool is_again = false;
  std::array<std::string, kOptionRows.size()> engine_texts;

  Parser() {
    app.set_version_flag("-V,--version", server::version_text());
    app.require_subcommand(0, 1);
    app.footer("millrace COMMAND --help shows the options of a command, with examples.");
    // CLI11 refuses repeated flags and switches in different words: `check_repetition` refuses
    // both.
    for (CLI::App* command : {check, move_to_log, move_to_file, import}) {
      command->option_defaults()->take_last();
    }
    config.command()
        .add_option("ACTION", action, "check")
        ->required()
        ->type_name("")
        ->check(CLI::IsMember({"check"}));
    config.command().footer(kConfigFooter);
    users->add_option("ACTION", users_choice.action, cli::listed(kUsersActions))
        ->required()
        ->type_name("")
        ->check(CLI::IsMember({"check", "list", "explain", "hash"}));
    users->add_option("WORDS", users_choice.words, "FILE; for explain: FILE USER RIGHT QUEUE")
        ->type_name("");
    users->footer(kUsersFooter);
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
  void add_move(CLI::App& command, const char* help) {
    command.add_option("DIR", directory, help)->required()->type_name("");
    for (std::size_t i = 0; i < kOptionRows.size(); ++i) {
      if (is_of_engine(kOptionRows[i]))
        server::add_option(command, kOptionRows[i], engine_texts[i]);
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

Invocation read_serve(const server::ServeCommand& command, server::ConfigFile kind,
                      Invocation::Action action) {
  auto choice = command.read(kind);
  if (!choice) return refuse(choice.error().text);
  return {.action = action,
          .config = std::move(choice->config),
          .text = {},
          .unknown_variables = std::move(choice->unknown_variables)};
}

Invocation read_move(const Parser& parser, const CLI::App& command, Invocation::Action action) {
  Invocation invocation{.action = action, .config = {}, .text = {}};
  for (std::size_t i = 0; i < kOptionRows.size(); ++i) {
    const server::OptionRow& row = kOptionRows[i];
    if (!is_of_engine(row)) continue;
    const std::string flag = std::string("--") + row.name;
    if (command.get_option(flag)->count() == 0) continue;
    const Outcome<Done> applied = row.apply(invocation.config, parser.engine_texts[i]);
    if (!applied) return refuse(flag + ": " + applied.error().text);
  }
  invocation.config.data = parser.directory;
  invocation.config.moves_again = parser.is_again;
  if (invocation.config.log.empty()) return refuse("--log is required");
  if (const auto checked = server::check_engine(invocation.config); !checked) {
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
  choice.redis_password = server::environment_variable("REDISCLI_AUTH").value_or("");
  choice.search_path = server::environment_variable("PATH").value_or(choice.search_path);
  choice.temporary_folder =
      server::environment_variable("TMPDIR").value_or(choice.temporary_folder);
  return {.action = Invocation::Action::kImport, .config = {}, .text = {}, .import = choice};
}

Invocation read_export(ExportChoice choice) {
  if (const auto checked = check_export(choice); !checked) return refuse(checked.error().text);
  choice.password = server::environment_variable("FAKTORY_PASSWORD").value_or("");
  return {.action = Invocation::Action::kExport, .config = {}, .text = {}, .exported = choice};
}

/// Whether a person wants colors, and whether the terminal has them.
bool wants_colors() {
  return server::environment_variable("NO_COLOR").value_or("").empty() &&
         server::environment_variable("TERM").value_or("") != "dumb";
}

/// `--type=` has no value: CLI11 would take the next argument for it.
std::optional<std::string> flag_without_value(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument.starts_with("--") && argument.find('=') + 1 == argument.size()) return argument;
  }
  return std::nullopt;
}

/// A password that was given for this very server wins. Tokens are managed without one.
Outcome<Done> take_token(cli::Choice& choice) {
  const bool has_password =
      !choice.password_file.empty() || (choice.has_url && !choice.url.password.empty());
  if (has_password || choice.verb->name == std::string_view("tokens")) return Done{};
  choice.bearer = server::environment_variable(server::kTokenVariable).value_or("");
  if (choice.bearer.empty() || http::is_token_text(choice.bearer)) return Done{};
  return Problem{
      "MILLRACE_TOKEN is not a token: `millrace tokens new` prints one, which begins with " +
      std::string(http::kTokenPrefix)};
}

Invocation read_ask(const cli::CommandLine& verbs, const std::vector<std::string>& arguments) {
  if (const auto flag = flag_without_value(arguments)) return refuse(*flag + " needs a value");
  Outcome<cli::Choice> choice = verbs.choice();
  if (!choice) return refuse(choice.error().text);
  // Before the URL of Faktory counts, whose password is that of workers.
  if (auto taken = take_token(*choice); !taken) return refuse(taken.error().text);
  if (auto taken = take_server(*choice); !taken) return refuse(taken.error().text);
  if (auto checked = check_ca(*choice); !checked) return refuse(checked.error().text);
  std::string warning;
  if (!choice->password_file.empty()) {
    const auto file = server::read_password_file(choice->password_file);
    if (!file) return refuse(file.error().text);
    choice->password = file->password;
    // `doctor` has it among its findings.
    const bool must_warn = file->is_readable_by_all && (choice->verb->groups & cli::kDoctor) == 0;
    if (must_warn) warning = "every user of this machine can read " + choice->password_file;
  } else if (choice->url.password.empty()) {
    choice->password = server::environment_variable(server::kPasswordVariable).value_or("");
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

Invocation read_invocation(const std::vector<std::string>& given, server::ConfigFile config_file) {
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
  const bool imports = parser.import->parsed();
  if (imports || parser.export_jobs->parsed()) {
    const CLI::App& command = imports ? *parser.import : *parser.export_jobs;
    const bool has_word = command.get_option(imports ? "FILE" : "DIR")->count() > 0;
    const bool asks = imports == has_word;
    if (auto checked = check_kind(command, asks); !checked) return refuse(checked.error().text);
    if (asks) return read_ask(parser.verbs, arguments);
    return imports ? read_import(parser.import_choice) : read_export(parser.export_choice);
  }
  if (parser.verbs.is_given()) return read_ask(parser.verbs, arguments);
  if (parser.users->parsed()) {
    return {.action = Invocation::Action::kUsers,
            .config = {},
            .text = {},
            .users = parser.users_choice};
  }
  if (parser.completion->parsed()) return print_completion(parser);
  if (parser.man->parsed()) return print(man_page(shown_commands(parser.app)));
  const bool is_check = parser.config.is_given();
  if (!parser.serve.is_given() && !is_check) {
    return {.action = Invocation::Action::kShowUsage, .config = {}, .text = parser.app.help()};
  }
  if (const auto flag = flag_without_value(arguments)) return refuse(*flag + " needs a value");
  return is_check ? read_serve(parser.config, config_file, Invocation::Action::kCheckConfig)
                  : read_serve(parser.serve, config_file, Invocation::Action::kServe);
}

}  // namespace millrace::tools
