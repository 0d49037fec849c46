#include "server/import/import_options.hpp"

#include <CLI/CLI.hpp>

namespace millrace::server {
namespace {

constexpr const char* kImportFooter =
    "Exit status 0: imported. 1: not; the same command begins again. 2: wrong arguments.\n"
    "4: imported, but not all of the old files could be read.";

}  // namespace

CLI::App* add_import_command(CLI::App& app, ImportChoice& choice) {
  CLI::App* const command = app.add_subcommand(
      "import", "Take the jobs of beanstalkd into the journal of a stopped server");
  command
      ->add_option("--beanstalkd", choice.beanstalkd,
                   "The directory of beanstalkd's binlog (-b); it is not changed")
      ->type_name("DIR");
  command->add_option("--into", choice.into, "The data directory, a new one or that of a server")
      ->type_name("DATA");
  command->add_flag("--merge", choice.merges, "Even if DATA has jobs already");
  command->footer(kImportFooter);
  return command;
}

}  // namespace millrace::server
