#include "tools/run.hpp"

#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "cli/cli.hpp"
#include "cli/show/console.hpp"
#include "server/process/logging.hpp"
#include "tools/backup/backup_files.hpp"
#include "tools/directory/check.hpp"
#include "tools/directory/journal_copy.hpp"
#include "tools/local/local_verbs.hpp"
#include "tools/move_jobs.hpp"

namespace millrace::tools {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitDamaged = 4;

/// A text may repeat an argument, or a name from a file: it cannot move the cursor.
int fail(const std::string& text, int code) {
  std::fprintf(stderr, "millrace: %s\n", harmless(text).c_str());
  return code;
}

/// Text for stdout, which is called `name` in a problem. A reader that has gone is no fault.
int print(std::string_view text, const char* name = "the output") {
  std::signal(SIGPIPE, SIG_IGN);
  cli::Console console(false);
  console.print(text);
  if (console.finish()) return 0;
  return fail(std::string(name) + " could not be written", kExitFailed);
}

int print_report(const Outcome<JournalReport>& report) {
  if (!report) return fail(report.error().text, kExitFailed);
  const int printed = print(report->text, "it is done, but the report of it");
  return report->damage ? fail(*report->damage, kExitDamaged) : printed;
}

int print_backup(const BackupChoice& choice) {
  const auto report = back_up_journal(choice);
  if (!report || choice.to != kStream) return print_report(report);
  // The backup is on stdout.
  std::fputs(report->text.c_str(), stderr);
  return 0;
}

int print_moved(const Outcome<std::string>& moved) {
  return moved ? print(*moved) : fail(moved.error().text, kExitFailed);
}

}  // namespace

int run(const Invocation& invocation) {
  const std::string& text = invocation.text;
  switch (invocation.action) {
    case Invocation::Action::kPrint:
      return print(invocation.text);
    case Invocation::Action::kRefuse:
      return fail(invocation.text, kExitUsage);
    case Invocation::Action::kCheck:
      if (!invocation.target.empty()) return print_report(salvage_journal(text, invocation.target));
      return print_report(check_directory(text));
    case Invocation::Action::kBackUp:
      return print_backup(invocation.backup);
    case Invocation::Action::kRestore:
      return print_report(restore_journal(invocation.restore));
    case Invocation::Action::kMoveToLog:
      return print_moved(move_to_log(invocation.config, server::Log()));
    case Invocation::Action::kMoveToFile:
      return print_moved(move_to_file(invocation.config, server::Log()));
    case Invocation::Action::kImport:
      return print_report(import_jobs(invocation.import));
    case Invocation::Action::kExport:
      return print_report(export_jobs(invocation.exported));
    case Invocation::Action::kAsk:
      // A warning, and no failure.
      if (!text.empty()) (void)fail(text, 0);
      return cli::run(invocation.ask, find_local_verb);
    case Invocation::Action::kServe:
      break;
  }
  return kExitFailed;
}

}  // namespace millrace::tools
