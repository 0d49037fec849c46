#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "cli/cli.hpp"
#include "cli/show/console.hpp"
#include "server/backup/backup_files.hpp"
#include "server/local/local_verbs.hpp"
#include "server/options/beanstalkd_options.hpp"
#include "server/options/config.hpp"
#include "server/options/faktory_options.hpp"
#include "server/process/logging.hpp"
#include "server/serve.hpp"
#include "server/tools/check.hpp"
#include "server/tools/journal_copy.hpp"
#include "server/tools/move_jobs.hpp"

namespace {

using millrace::Outcome;
using millrace::Problem;
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

/// A text may repeat an argument, or a name from a file: it cannot move the cursor.
int fail(std::string_view program, const std::string& text, int code) {
  std::fprintf(stderr, "%s: %s\n", program.data(), millrace::harmless(text).c_str());
  return code;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// A server that was not asked to end has failed: whoever supervises it starts it again.
int status_of(std::string_view program, const millrace::server::Ended& ended) {
  if (ended.signal) return 0;
  return fail(program, "another server leads the log", kExitFailed);
}

/// Text for stdout, which is called `name` in a problem. A reader that has gone is no fault.
int print(std::string_view text, const char* name = "the output") {
  std::signal(SIGPIPE, SIG_IGN);
  millrace::cli::Console console(false);
  console.print(text);
  if (console.finish()) return 0;
  return fail(kMillrace, std::string(name) + " could not be written", kExitFailed);
}

int print_report(const Outcome<millrace::server::JournalReport>& report) {
  if (!report) return fail(kMillrace, report.error().text, kExitFailed);
  const int printed = print(report->text, "it is done, but the report of it");
  return report->damage ? fail(kMillrace, *report->damage, kExitDamaged) : printed;
}

int print_backup(const millrace::server::BackupChoice& choice) {
  const auto report = millrace::server::back_up_journal(choice);
  if (!report || choice.to != millrace::server::kStream) return print_report(report);
  // The backup is on stdout.
  std::fputs(report->text.c_str(), stderr);
  return 0;
}

int print_moved(const Outcome<std::string>& moved) {
  return moved ? print(*moved) : fail(kMillrace, moved.error().text, kExitFailed);
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
  using namespace millrace::server;
  const Invocation invocation = millrace::server::read_invocation(arguments);
  const std::string& text = invocation.text;
  switch (invocation.action) {
    case Invocation::Action::kPrint:
      return print(invocation.text);
    case Invocation::Action::kRefuse:
      return fail(kMillrace, invocation.text, kExitUsage);
    case Invocation::Action::kCheck:
      if (!invocation.target.empty()) return print_report(salvage_journal(text, invocation.target));
      return print_report(check_directory(text));
    case Invocation::Action::kBackUp:
      return print_backup(invocation.backup);
    case Invocation::Action::kRestore:
      return print_report(restore_journal(invocation.restore));
    case Invocation::Action::kMoveToLog:
      return print_moved(move_to_log(invocation.config, Log()));
    case Invocation::Action::kMoveToFile:
      return print_moved(move_to_file(invocation.config, Log()));
    case Invocation::Action::kImport:
      return print_report(import_jobs(invocation.import));
    case Invocation::Action::kExport:
      return print_report(export_jobs(invocation.exported));
    case Invocation::Action::kAsk:
      // A warning, and no failure.
      if (!text.empty()) (void)fail(kMillrace, text, 0);
      return millrace::cli::run(invocation.ask, millrace::server::find_local_verb);
    case Invocation::Action::kServe:
      break;
  }
  const auto read_again = [&]() -> Outcome<Config> {
    Invocation again = millrace::server::read_invocation(arguments);
    if (again.action != Invocation::Action::kServe) return Problem{again.text};
    return std::move(again.config);
  };
  const millrace::server::Log log;
  if (!invocation.unknown_variables.empty()) {
    log.event("environment_ignored",
              {{"variables", millrace::server::join(invocation.unknown_variables)}});
  }
  const auto served = millrace::server::serve(invocation.config, log, read_again);
  return served ? status_of(kMillrace, *served) : fail(kMillrace, served.error().text, kExitFailed);
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
    case StartFailure::Step::kOther:
      break;
  }
  return 1;
}

int run_as_beanstalkd(const std::vector<std::string>& arguments) {
  const auto invocation = millrace::server::read_beanstalkd_invocation(arguments);
  std::fputs(invocation.output.c_str(), stdout);
  std::fputs(invocation.errors.c_str(), stderr);
  if (invocation.exit_status) return *invocation.exit_status;
  using millrace::server::Log;
  using millrace::server::Personality;
  const auto announcement = invocation.config.personality.announcement;
  const bool is_silent = announcement == Personality::Announcement::kNone;
  const Log log(is_silent ? Log::Routine::kLeftOut : Log::Routine::kLogged);
  const auto served = millrace::server::serve(invocation.config, log);
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
  std::fputs(invocation.errors.c_str(), stderr);
  if (invocation.exit_status) return *invocation.exit_status;
  const auto read_again = [&]() -> Outcome<Config> {
    auto again = millrace::server::read_faktory_invocation(arguments);
    if (again.exit_status) return Problem{first_line(again.errors)};
    return std::move(again.config);
  };
  const millrace::server::Log log;
  const auto served = millrace::server::serve(invocation.config, log, read_again);
  return served ? status_of(kFaktory, *served) : fail(kFaktory, served.error().text, kExitFailed);
}

std::string_view called_as(std::string_view path) {
  if (millrace::server::is_called_as_beanstalkd(path)) return kBeanstalkd;
  return millrace::server::is_called_as_faktory(path) ? kFaktory : kMillrace;
}

}  // namespace

int main(int argc, char** argv) {
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
