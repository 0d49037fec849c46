#include "tools/import/import.hpp"

#include <CLI/CLI.hpp>

#include "tools/directory/marks.hpp"
#include "tools/directory/places.hpp"

namespace millrace::tools {
namespace {

constexpr const char* kImportFooter =
    "Exit status 0: imported. 1: not; the same command begins again. Or only the report could not "
    "be "
    "written, as stderr says. 2: wrong arguments. 4: "
    "imported, but not all: the table and the line on stderr say what is missing.\n"
    "SOURCE of --faktory is the directory of Faktory's data (-d), or a copy of its faktory.rdb; "
    "that needs the program redis-server. Or it is a Redis that runs: unix:PATH, or "
    "redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE], or rediss://... for TLS. The variable "
    "REDISCLI_AUTH may have the password.";

}  // namespace

Outcome<Done> check_import(const ImportChoice& choice) {
  const int sources = !choice.beanstalkd.empty() + !choice.faktory.empty() + !choice.from.empty();
  if (sources == 0) return Problem{"--beanstalkd, --faktory or --from is required"};
  if (sources > 1) {
    return Problem{
        "give one of --beanstalkd, --faktory and --from; then run it again for the next one, with "
        "--merge"};
  }
  if (choice.into.empty()) return Problem{"--into is required"};
  if (choice.skips_damage && choice.beanstalkd.empty()) {
    return Problem{"--skip-damage needs --beanstalkd"};
  }
  if (choice.keeps_working && choice.faktory.empty()) {
    return Problem{"--keep-working needs --faktory"};
  }
  if (choice.ignores_other_keys && choice.faktory.empty()) {
    return Problem{"--ignore-other-keys needs --faktory"};
  }
  if (!choice.ca_file.empty() && !choice.faktory.starts_with("rediss://")) {
    return Problem{"--ca needs --faktory rediss://HOST"};
  }
  return Done{};
}

Outcome<JournalReport> import_jobs(const ImportChoice& choice) {
  // An import itself may be gone on with.
  if (auto ended = refuse_unfinished_restore(choice.into); !ended) return ended.error();
  for (const std::string& source : {choice.beanstalkd, choice.faktory}) {
    if (source.empty()) continue;
    if (auto apart = refuse_inside(choice.into, source); !apart) return apart.error();
  }
  auto report = !choice.from.empty()     ? import_running(choice)
                : choice.faktory.empty() ? import_binlog(choice)
                                         : import_faktory(choice);
  if (report) report->text += owner_warning(choice.into);
  return report;
}

CLI::App* add_import_command(CLI::App& app, ImportChoice& choice) {
  CLI::App* const command = app.add_subcommand(
      "import", "Import jobs from beanstalkd or Faktory, or those that export wrote");
  command
      ->add_option("--beanstalkd", choice.beanstalkd,
                   "The directory of beanstalkd's binlog (-b); it is not changed")
      ->type_name("DIR");
  command->add_flag("--skip-damage", choice.skips_damage,
                    "Even if some of the binlog cannot be read: take the rest");
  command
      ->add_option("--faktory", choice.faktory,
                   "The database of Faktory (see below); it is not changed")
      ->type_name("SOURCE");
  command
      ->add_option("--from", choice.from,
                   "A beanstalkd that runs (beanstalk://HOST[:PORT]): its jobs are moved, and so "
                   "deleted there")
      ->type_name("URL");
  command->add_flag("--keep-working", choice.keeps_working,
                    "Leave to workers of Faktory what they hold; otherwise it is ready");
  command->add_flag("--ignore-other-keys", choice.ignores_other_keys,
                    "Even if Faktory's Redis has keys that Faktory does not make");
  command
      ->add_option("--ca", choice.ca_file,
                   "Certificates to check that of a rediss:// with (PEM), instead of the system's")
      ->type_name("FILE");
  command->add_option("--into", choice.into, "The data directory, a new one or that of a server")
      ->type_name("DATA");
  command->add_flag("--merge", choice.merges, "Even if DATA has jobs already");
  command->footer(kImportFooter);
  return command;
}

}  // namespace millrace::tools
