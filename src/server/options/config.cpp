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
#include "server/import/import_options.hpp"
#include "server/options/config_check.hpp"
#include "server/options/config_file.hpp"
#include "server/options/config_in_force.hpp"
#include "server/options/config_tables.hpp"
#include "server/options/option_values.hpp"

namespace millrace::server {
namespace {

/// One option of `serve`. The flag is `--name`, the key of the config file is `name`, and the
/// environment variable is MILLRACE_NAME, with `_` for `-`.
struct Row {
  const char* name;
  const char* value;  ///< placeholder for the value in the help; null: a switch
  const char* help;
  Outcome<Done> (*apply)(Config&, const std::string&);
  /// False when the two differ and only a restart can apply the difference. A reference, so that
  /// no row can leave it out.
  bool (&is_same)(const Config&, const Config&);
};

template <auto member>
bool is_same(const Config& a, const Config& b) {
  return a.*member == b.*member;
}

/// SIGHUP applies every change, so none needs a restart.
bool any_change(const Config&, const Config&) {
  return true;
}

/// SIGHUP exchanges a certificate, but only a restart switches encryption on or off.
bool is_same_tls(const Config& a, const Config& b) {
  return a.tls_certificate_file.empty() == b.tls_certificate_file.empty();
}

/// SIGHUP exchanges a password, but never leaves open ports without one.
bool keeps_password(const Config& a, const Config& b) {
  return !has_password(a) || has_password(b);
}

constexpr std::array kRows = {
    Row{"data", "DIR", "Data directory (default: ./millrace-data)",
        [](Config& c, const std::string& text) { return set_text(c.data, text); },
        is_same<&Config::data>},
    Row{"beanstalk", "ADDR|off", "Address for beanstalk clients (default: 127.0.0.1:11300)",
        [](Config& c, const std::string& text) { return set_address(c.beanstalk, text); },
        is_same<&Config::beanstalk>},
    Row{"faktory", "ADDR|off", "Address for Faktory clients and workers (default: 127.0.0.1:7419)",
        [](Config& c, const std::string& text) { return set_address(c.faktory, text); },
        is_same<&Config::faktory>},
    Row{"web", "ADDR|off",
        "Address for the web UI, the JSON API and metrics (default: 127.0.0.1:7420)",
        [](Config& c, const std::string& text) { return set_address(c.web, text); },
        is_same<&Config::web>},
    Row{"web-read-only", nullptr, "Refuse every change through the web UI and the API",
        [](Config& c, const std::string& text) { return set_switch(c.is_web_read_only, text); },
        is_same<&Config::is_web_read_only>},
    Row{"web-host", "NAMES",
        "Extra Host names accepted when no password is set, separated by commas",
        [](Config& c, const std::string& text) { return set_names(c.web_hosts, text); },
        is_same<&Config::web_hosts>},
    Row{"name", "NAME[:COLOR]", "Name of this server in the web UI, with a color for its bar",
        [](Config& c, const std::string& text) { return set_server_name(c.name, text); },
        is_same<&Config::name>},
    Row{"password-file", "FILE", "File with the password for Faktory clients and browsers",
        [](Config& c, const std::string& text) { return set_text(c.password_file, text); },
        keeps_password},
    Row{"tls-cert", "FILE",
        "TLS certificate chain (PEM); all ports except unix: then speak TLS only",
        [](Config& c, const std::string& text) { return set_text(c.tls_certificate_file, text); },
        is_same_tls},
    Row{"tls-key", "FILE", "Private key of the certificate (PEM)",
        [](Config& c, const std::string& text) { return set_text(c.tls_key_file, text); },
        any_change},
    Row{"max-connections", "N", "Maximum number of Faktory connections; 0: no limit (default: 0)",
        [](Config& c, const std::string& text) { return set_count(c.connections_max, text); },
        any_change},
    Row{"description", "TEXT",
        "What INFO says that the server is; some applications look for Faktory Enterprise "
        "(default: Faktory)",
        [](Config& c, const std::string& text) { return set_description(c.description, text); },
        any_change},
    Row{"dead-max-jobs", "N",
        "Maximum number of dead pushed jobs; beyond it the oldest is deleted (default: 1000000)",
        [](Config& c, const std::string& text) { return set_count(c.dead_jobs_max, text); },
        is_same<&Config::dead_jobs_max>},
    Row{"sync", "MODE",
        "When a reply may be sent: always (change on disk), interval:MS (written, on disk every MS "
        "milliseconds) or off (written) (default: always)",
        [](Config& c, const std::string& text) {
          const auto set = set_sync(c.sync, text);
          c.has_asked_for_syncs = c.sync.mode == SyncChoice::Mode::kAlways;
          return set;
        },
        is_same<&Config::sync>},
    Row{"strict-fetch", nullptr,
        "Hand out a job only when its reservation is on disk, too (with --sync always)",
        [](Config& c, const std::string& text) { return set_switch(c.is_fetch_strict, text); },
        is_same<&Config::is_fetch_strict>},
    Row{"volatile", nullptr, "Keep no journal; --data has no effect, and a restart loses all jobs",
        [](Config& c, const std::string& text) { return set_switch(c.is_volatile, text); },
        is_same<&Config::is_volatile>},
    Row{"log", "URL",
        "A log that servers share, one of which serves at a time: nats://HOSTS/STREAM or "
        "postgresql://...",
        [](Config& c, const std::string& text) { return set_log(c.log, text); },
        is_same<&Config::log>},
    Row{"node", "NAME", "With --log: the name of this server, which no other one has",
        [](Config& c, const std::string& text) { return set_node(c.node, text); },
        is_same<&Config::node>},
    Row{"lease", "MS",
        "With --log: how long the others wait for a server that is gone (default: 1000)",
        [](Config& c, const std::string& text) { return set_lease(c.lease, text); },
        is_same<&Config::lease>},
    Row{"advertise", "HOST",
        "With --log: the host by which others reach this server (default: that of its ports)",
        [](Config& c, const std::string& text) { return set_text(c.advertise, text); },
        is_same<&Config::advertise>},
    Row{"no-relay", nullptr,
        "With --log: keep the ports closed while another server serves, instead of relaying to it",
        [](Config& c, const std::string& text) { return set_switch(c.keeps_ports_closed, text); },
        is_same<&Config::keeps_ports_closed>},
    Row{"allow-unsynced-log", nullptr,
        "With --log: use an engine that may lose acknowledged jobs in a power cut",
        [](Config& c, const std::string& text) { return set_switch(c.allows_unsynced_log, text); },
        is_same<&Config::allows_unsynced_log>},
    Row{"log-password-file", "FILE", "File with the password for the engine of --log",
        [](Config& c, const std::string& text) { return set_text(c.log_password_file, text); },
        is_same<&Config::log_password_file>},
    Row{"log-credentials", "FILE", "Credentials file for NATS",
        [](Config& c, const std::string& text) { return set_text(c.log_credentials_file, text); },
        is_same<&Config::log_credentials_file>},
    Row{"log-ca", "FILE", "Certificates that the engine's certificate is checked with (PEM)",
        [](Config& c, const std::string& text) { return set_text(c.log_ca_file, text); },
        is_same<&Config::log_ca_file>},
    Row{"log-cert", "FILE", "Certificate to show to the engine (PEM)",
        [](Config& c, const std::string& text) { return set_text(c.log_certificate_file, text); },
        is_same<&Config::log_certificate_file>},
    Row{"log-key", "FILE", "Private key of that certificate (PEM)",
        [](Config& c, const std::string& text) { return set_text(c.log_key_file, text); },
        is_same<&Config::log_key_file>},
    Row{"memory-limit", "BYTES",
        "Memory limit for jobs, 65536 or more; beyond it, bodies stay on disk (default: 0, none)",
        [](Config& c, const std::string& text) { return set_memory(c.memory_bytes_max, text); },
        is_same<&Config::memory_bytes_max>},
    Row{"segment-bytes", "BYTES", "Size of a journal file, 1 MiB to 1 GiB (default: 67108864)",
        [](Config& c, const std::string& text) { return set_segment_size(c.segment_bytes, text); },
        is_same<&Config::segment_bytes>},
    Row{"max-job-size", "BYTES", "Longest body of a beanstalk put, up to 1 GiB (default: 65535)",
        [](Config& c, const std::string& text) { return set_size(c.job_bytes_max, text); },
        any_change},
    Row{"user", "USER", "When started as root: switch to this user once the ports are open",
        [](Config& c, const std::string& text) { return set_text(c.user, text); },
        is_same<&Config::user>},
    Row{"insecure", nullptr, "Allow ports that other machines can reach without a password",
        [](Config& c, const std::string& text) { return set_switch(c.is_insecure, text); },
        is_same<&Config::is_insecure>},
};

constexpr const char* kFooter =
    "ADDR is HOST:PORT, [IPV6]:PORT or unix:PATH. Sizes are in bytes, without a unit.\n"
    "Every option is also an environment variable (MILLRACE_DATA) and, except --config and\n"
    "--conf-dir, a key of the config file (data = \"/var/lib/millrace\"). Flags win over the\n"
    "environment, and the environment wins over the file. FAKTORY_PASSWORD holds the password, or\n"
    "the path of its file if it begins with '/'.";

constexpr const char* kCheckFooter =
    "Exit status 0: nothing is damaged; a torn tail is no damage. 1: the command failed.\n"
    "2: wrong arguments. 4: the journal is damaged; with --salvage, everything else was copied.";
constexpr const char* kBackupFooter =
    "Exit status 0: copied. 1: not copied; the journal may be damaged. 2: wrong arguments.";

constexpr const char* kMoveFooter =
    "Exit status 0: moved. 1: not, or not all: the same command goes on. 2: wrong arguments.";

constexpr std::string_view kVariableStart = "MILLRACE_";

std::string variable_of(std::string_view name) {
  std::string variable(kVariableStart);
  for (const char c : name) {
    variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return variable;
}

/// Whether the option is about the engine of a shared log.
bool is_of_engine(const Row& row) {
  const std::string_view name = row.name;
  return name == "log" || name.starts_with("log-") || name == "allow-unsynced-log";
}

/// The command line and the environment, as CLI11 reads them. CLI11 keeps the addresses of the
/// members, so this is not copied.
struct Parser {
  CLI::App app{"Millrace: one job server for beanstalk and Faktory clients", "millrace"};
  CLI::App* serve = app.add_subcommand("serve", "Serve clients until SIGTERM");
  CLI::App* check =
      app.add_subcommand("check", "Show what a journal holds, and where it is damaged");
  CLI::App* backup = app.add_subcommand("backup", "Copy a journal; its server may be running");
  CLI::App* move_to_log = app.add_subcommand(
      "move-to-log", "Move the jobs of a stopped server to a log that several servers share");
  CLI::App* move_to_file = app.add_subcommand(
      "move-to-file", "Move the jobs of a shared log, whose servers are stopped, to one server");
  ImportChoice import_choice;
  CLI::App* import = add_import_command(app, import_choice);
  std::string directory;
  std::string target;
  bool is_again = false;
  std::array<std::string, kRows.size()> texts;
  std::array<CLI::Option*, kRows.size()> options{};
  std::string config_file;
  std::string config_folder;

  Parser() {
    app.set_version_flag("--version", "millrace " MILLRACE_VERSION);
    app.require_subcommand(0, 1);
    // CLI11 refuses repeated flags and switches in different words: `check_repetition` refuses
    // both.
    for (CLI::App* command : {serve, check, backup, move_to_log, move_to_file, import}) {
      command->option_defaults()->take_last();
    }
    serve->footer(kFooter);
    for (std::size_t i = 0; i < kRows.size(); ++i) {
      options[i] = add(*serve, kRows[i]);
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
    for (CLI::App* command : {check, backup}) {
      command->add_option("DIR", directory, "The data directory; it is not changed")
          ->required()
          ->type_name("");
    }
    add_move(*move_to_log, "The data directory; its jobs stay in it too, and are not served");
    add_move(*move_to_file, "A new directory, or that of a stopped node");
    move_to_file->add_flag("--again", is_again, "Even if the jobs were moved before");
    check->footer(kCheckFooter);
    backup->footer(kBackupFooter);
    check
        ->add_option("--salvage", target,
                     "Copy everything that is not damaged to this new directory")
        ->type_name("NEWDIR");
    backup->add_option("DEST", target, "A new or empty directory")->required()->type_name("");
  }

  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

 private:
  CLI::Option* add(CLI::App& command, const Row& row) {
    std::string& text = texts[static_cast<std::size_t>(&row - kRows.data())];
    const std::string flag = std::string("--") + row.name;
    CLI::Option* const option =
        row.value == nullptr ? command.add_flag(flag, text, row.help)
                             : command.add_option(flag, text, row.help)->type_name(row.value);
    return option->envname(variable_of(row.name));
  }

  void add_move(CLI::App& command, const char* help) {
    command.add_option("DIR", directory, help)->required()->type_name("");
    for (const Row& row : kRows) {
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

/// Names the first unknown argument. CLI11 would name all of them, the last one first.
Invocation refuse_extras(const CLI::App& app) {
  std::vector<std::string> extras = app.remaining(true);
  std::erase(extras, "--");
  const auto commands = app.get_subcommands();
  const std::string command = commands.empty() ? "" : " " + commands.front()->get_name();
  return refuse("'" + (extras.empty() ? "--" : extras.front()) +
                "' is not a known argument; see millrace" + command + " --help");
}

Outcome<Done> check_repetition(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() > 1) return Problem{option->get_name() + " may be given only once"};
    }
  }
  return Done{};
}

/// Suggests the key that was meant: other programs write `max_connections`.
Problem unknown_key(const std::string& name) {
  std::string meant = lower_case(name);
  std::replace(meant.begin(), meant.end(), '_', '-');
  const bool is_key = std::ranges::any_of(kRows, [&](const Row& row) { return meant == row.name; });
  return Problem{"unknown key '" + name + "'" + (is_key ? "; did you mean '" + meant + "'?" : "")};
}

Outcome<Done> apply_setting(const Setting& setting, const Parser& parser, Config& config) {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (setting.path.size() != 1 || setting.path.front() != kRows[i].name) continue;
    if (parser.options[i]->count() > 0) return Done{};
    const bool has_value =
        setting.kind == Setting::Kind::kString || setting.kind == Setting::Kind::kPlain;
    if (!has_value) return Problem{setting.shown_name() + " needs one value"};
    const Outcome<Done> applied = kRows[i].apply(config, setting.text);
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
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (parser.options[i]->count() == 0) continue;
    const Outcome<Done> applied = kRows[i].apply(config, parser.texts[i]);
    if (!applied) return Problem{std::string("--") + kRows[i].name + ": " + applied.error().text};
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
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const Row& row = kRows[i];
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

Invocation read_import(const ImportChoice& choice) {
  if (const auto checked = check_import(choice); !checked) return refuse(checked.error().text);
  return {.action = Invocation::Action::kImport, .config = {}, .text = {}, .import = choice};
}

}  // namespace

std::vector<std::string> options_for_restart(const Config& started, const Config& wanted) {
  std::vector<std::string> names;
  for (const Row& row : kRows) {
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
          .names = environment_variable("LISTEN_FDNAMES").value_or("")};
}

Invocation read_invocation(const std::vector<std::string>& arguments) {
  Parser parser;
  try {
    // CLI11 expects the arguments in reverse order.
    parser.app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return print(parser.app.help());
  } catch (const CLI::CallForVersion& version) {
    return print(std::string(version.what()) + "\n");
  } catch (const CLI::ExtrasError&) {
    return refuse_extras(parser.app);
  } catch (const CLI::ArgumentMismatch& error) {
    // CLI11 says "--data: 1 required DIR missing".
    const std::string_view text = error.what();
    return refuse(std::string(text.substr(0, text.find(':'))) + " needs a value");
  } catch (const CLI::Error& error) {
    return refuse(error.what());
  }
  if (const auto checked = check_repetition(parser.app); !checked) {
    return refuse(checked.error().text);
  }
  if (parser.check->parsed()) return read_directories(parser, Invocation::Action::kCheck);
  if (parser.backup->parsed()) return read_directories(parser, Invocation::Action::kBackUp);
  if (parser.move_to_log->parsed()) {
    return read_move(parser, *parser.move_to_log, Invocation::Action::kMoveToLog);
  }
  if (parser.move_to_file->parsed()) {
    return read_move(parser, *parser.move_to_file, Invocation::Action::kMoveToFile);
  }
  if (parser.import->parsed()) return read_import(parser.import_choice);
  if (!parser.serve->parsed()) {
    return refuse("a command is missing, for example serve; see millrace --help");
  }
  return read_serve(parser);
}

}  // namespace millrace::server
