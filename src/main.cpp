#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "cli/options/verb_rows.hpp"
#include "cli/show/console.hpp"
#include "server/options/config.hpp"
#include "server/options/other_options.hpp"
#include "server/process/line_writer.hpp"
#include "server/process/logging.hpp"
#include "server/process/process.hpp"
#include "server/serve.hpp"
#include "tools/backup/backup_files.hpp"
#include "tools/command_line/invocation.hpp"
#include "tools/directory/check.hpp"
#include "tools/directory/marks.hpp"
#include "tools/local/local_verbs.hpp"
#include "tools/move_jobs.hpp"

namespace {

using millrace::Outcome;
using millrace::Problem;
namespace cli = millrace::cli;
namespace server = millrace::server;
namespace tools = millrace::tools;
using millrace::server::Config;
using millrace::server::StartFailure;

// The names under which the program can be started; messages begin with them. They are literals,
// so their data ends with NUL.
constexpr std::string_view kMillrace = "millrace";
constexpr std::string_view kBeanstalkd = "beanstalkd";
constexpr std::string_view kFaktory = "faktory";

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitDamaged = 4;

/// Lines for stderr. Whoever reads them is waited for, but not for ever.
void say(std::string_view lines) {
  server::LineWriter output(STDERR_FILENO);
  while (!lines.empty() && server::wait_for_reader(STDERR_FILENO)) {
    const std::string_view line = lines.substr(0, lines.find('\n') + 1);
    output.write(line);
    lines.remove_prefix(line.size());
  }
}

/// A text may repeat an argument, or a name from a file: it cannot move the cursor.
int fail(std::string_view program, const std::string& text, int code) {
  say(std::string(program) + ": " + millrace::harmless(text) + "\n");
  return code;
}

/// Text for stdout, which is called `name` in a problem. A reader that has gone is no fault.
int print(std::string_view text, const char* name = "the output") {
  std::signal(SIGPIPE, SIG_IGN);
  cli::Console console(false);
  console.print(text);
  if (console.finish()) return 0;
  return fail(kMillrace, std::string(name) + " could not be written", kExitFailed);
}

int print_report(const Outcome<tools::JournalReport>& report) {
  if (!report) return fail(kMillrace, report.error().text, kExitFailed);
  const int printed = print(report->text, "it is done, but the report of it");
  return report->damage ? fail(kMillrace, *report->damage, kExitDamaged) : printed;
}

int print_backup(const tools::BackupChoice& choice) {
  const auto report = tools::back_up_journal(choice);
  if (!report || choice.to != tools::kStream) return print_report(report);
  // The backup is on stdout.
  std::fputs(report->text.c_str(), stderr);
  return 0;
}

int print_moved(const Outcome<std::string>& moved) {
  return moved ? print(*moved) : fail(kMillrace, moved.error().text, kExitFailed);
}

struct LocalVerb {
  std::string_view name;
  cli::Verb run;
};

constexpr std::array kLocalVerbs = {LocalVerb{"dev", tools::serve_for_development},
                                    LocalVerb{"doctor", tools::look_for_trouble},
                                    LocalVerb{"bench", tools::measure_machine}};

/// For `cli::run`. Null: there is no such verb.
cli::Verb find_local_verb(std::string_view name) {
  for (const LocalVerb& verb : kLocalVerbs) {
    if (verb.name == name) return verb.run;
  }
  return nullptr;
}

void log_unknown_variables(const tools::Invocation& invocation, const server::Log& log) {
  if (invocation.unknown_variables.empty()) return;
  log.event("environment_ignored", {{"variables", server::join(invocation.unknown_variables)}});
}

int check_config(const tools::Invocation& invocation) {
  const server::Log log(server::Log::Routine::kLogged, invocation.config.log_format);
  log_unknown_variables(invocation, log);
  if (auto checked = server::check_configuration(invocation.config, log); !checked) {
    return fail(kMillrace, checked.error().text, kExitUsage);
  }
  return print("the configuration is valid\n");
}

/// Does what the command line asks for, but for `kServe`, and prints what comes of it. Returns the
/// exit status.
int run_tool(const tools::Invocation& invocation) {
  const std::string& text = invocation.text;
  switch (invocation.action) {
    case tools::Invocation::Action::kPrint:
      return print(invocation.text);
    case tools::Invocation::Action::kShowUsage:
      (void)print(invocation.text);
      return kExitUsage;
    case tools::Invocation::Action::kRefuse:
      return fail(kMillrace, invocation.text, kExitUsage);
    case tools::Invocation::Action::kCheckConfig:
      return check_config(invocation);
    case tools::Invocation::Action::kCheck:
      if (!invocation.target.empty())
        return print_report(tools::salvage_journal(text, invocation.target));
      return print_report(tools::check_directory(text));
    case tools::Invocation::Action::kBackUp:
      return print_backup(invocation.backup);
    case tools::Invocation::Action::kRestore:
      return print_report(tools::restore_journal(invocation.restore));
    case tools::Invocation::Action::kMoveToLog:
      return print_moved(tools::move_to_log(invocation.config, server::Log()));
    case tools::Invocation::Action::kMoveToFile:
      return print_moved(tools::move_to_file(invocation.config, server::Log()));
    case tools::Invocation::Action::kImport:
      return print_report(tools::import_jobs(invocation.import));
    case tools::Invocation::Action::kExport:
      return print_report(tools::export_jobs(invocation.exported));
    case tools::Invocation::Action::kUsers: {
      const Outcome<std::string> done = tools::work_on_users(invocation.users);
      return done ? print(*done) : fail(kMillrace, done.error().text, kExitUsage);
    }
    case tools::Invocation::Action::kAsk:
      // A warning, and no failure.
      if (!text.empty()) (void)fail(kMillrace, text, 0);
      return cli::run(invocation.ask, find_local_verb);
    case tools::Invocation::Action::kServe:
      break;
  }
  return kExitFailed;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// A server that was not asked to end has failed: whoever supervises it starts it again.
int status_of(std::string_view program, const millrace::server::Ended& ended) {
  if (ended.signal) return 0;
  return fail(program, "another server leads the log", kExitFailed);
}

/// Closed by whoever started the program, they would be those of its next files and connections:
/// a job could be printed into one. Each leads nowhere then, and what uses it fails.
void fill_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1) continue;
    // The lowest that is free.
    (void)open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int run(const std::vector<std::string>& arguments) {
  const tools::Invocation invocation = tools::read_invocation(arguments);
  if (invocation.action != tools::Invocation::Action::kServe) return run_tool(invocation);
  const auto read_again = [&]() -> Outcome<Config> {
    tools::Invocation again = tools::read_invocation(arguments, server::ConfigFile::kRegular);
    if (again.action != tools::Invocation::Action::kServe) return Problem{again.text};
    return std::move(again.config);
  };
  const server::Log log(server::Log::Routine::kLogged, invocation.config.log_format);
  log_unknown_variables(invocation, log);
  const auto served =
      millrace::server::serve(invocation.config, log, {read_again, tools::refuse_unservable});
  if (served) return status_of(kMillrace, *served);
  const StartFailure::Step step = served.error().step;
  const bool is_usage =
      step == StartFailure::Step::kConfigure || step == StartFailure::Step::kFindUser;
  return fail(kMillrace, served.error().text, is_usage ? kExitUsage : kExitFailed);
}

/// The exit statuses of beanstalkd.
int beanstalkd_status(StartFailure::Step step) {
  switch (step) {
    case StartFailure::Step::kListen:
      return 111;
    case StartFailure::Step::kFindUser:
      return 33;
    case StartFailure::Step::kBecomeUser:
      return 34;
    case StartFailure::Step::kOpenJournal:
      return 10;
    case StartFailure::Step::kConfigure:
    case StartFailure::Step::kOther:
      break;
  }
  return 1;
}

int run_as_beanstalkd(const std::vector<std::string>& arguments) {
  const auto invocation = millrace::server::read_beanstalkd_invocation(arguments);
  std::fputs(invocation.output.c_str(), stdout);
  say(invocation.errors);
  if (invocation.exit_status) return *invocation.exit_status;
  using millrace::server::Log;
  using millrace::server::Personality;
  const auto announcement = invocation.config.personality.announcement;
  const bool is_silent = announcement == Personality::Announcement::kNone;
  const Log log(is_silent ? Log::Routine::kLeftOut : Log::Routine::kLogged);
  const auto served = millrace::server::serve(invocation.config, log,
                                              {.check_directory = tools::refuse_unservable});
  if (!served) {
    return fail(kBeanstalkd, served.error().text, beanstalkd_status(served.error().step));
  }
  // beanstalkd ends by the signal itself. The first process of a container ignores the signal, so
  // it ends with the status that a shell would report.
  if (!served->signal) return status_of(kBeanstalkd, *served);
  std::signal(*served->signal, SIG_DFL);
  std::raise(*served->signal);
  return 128 + *served->signal;
}

int run_as_faktory(const std::vector<std::string>& arguments) {
  const auto invocation = millrace::server::read_faktory_invocation(arguments);
  std::fputs(invocation.output.c_str(), stdout);
  say(invocation.errors);
  if (invocation.exit_status) return *invocation.exit_status;
  const auto read_again = [&]() -> Outcome<Config> {
    auto again = millrace::server::read_faktory_invocation(arguments);
    if (again.exit_status) return Problem{first_line(again.errors)};
    return std::move(again.config);
  };
  const millrace::server::Log log;
  const auto served =
      millrace::server::serve(invocation.config, log, {read_again, tools::refuse_unservable});
  return served ? status_of(kFaktory, *served) : fail(kFaktory, served.error().text, kExitFailed);
}

std::string_view called_as(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path == kBeanstalkd ? kBeanstalkd : path == kFaktory ? kFaktory : kMillrace;
}

}  // namespace

int main(int argc, char** argv) {
  std::set_new_handler(millrace::server::end_without_memory);
  const std::string_view program = called_as(argc > 0 ? argv[0] : "");
  fill_standard_descriptors();
  // `dev` and `bench` start their server by /proc/self/exe: ps and ss would show it as `exe`.
  prctl(PR_SET_NAME, program.data());
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (program == kBeanstalkd) return run_as_beanstalkd(arguments);
    return program == kFaktory ? run_as_faktory(arguments) : run(arguments);
  } catch (const std::exception& exception) {
    return fail(program, exception.what(), kExitFailed);
  }
}
