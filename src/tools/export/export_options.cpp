#include "tools/export/export_options.hpp"

#include <CLI/CLI.hpp>

namespace millrace::tools {
namespace {

constexpr const char* kExportFooter =
    "Exit status 0: the other server has all jobs. 1: not; the same command goes on, also after "
    "Ctrl-C. 2: wrong arguments. 4: it has all but those that it did not take, which the table "
    "counts.\n"
    "URL is beanstalk://HOST[:PORT] for beanstalkd. For Faktory it is as in FAKTORY_URL, "
    "tcp://[:PASSWORD@]HOST[:PORT] or tcp+tls://...; the variable FAKTORY_PASSWORD may have the "
    "password.";

}  // namespace

CLI::App* add_export_command(CLI::App& app, ExportChoice& choice) {
  CLI::App* const command =
      app.add_subcommand("export", "Give the jobs of a stopped server to beanstalkd or Faktory");
  command
      ->add_option("DIR", choice.directory,
                   "The data directory; its jobs stay in it too, and are not served")
      ->required()
      ->type_name("");
  command->option_defaults()->take_last();
  command->add_option("--to", choice.to, "The server that gets the jobs; it runs")
      ->type_name("URL");
  command
      ->add_option("--ca", choice.ca_file,
                   "Certificates to check that of the server with (PEM), instead of the system's")
      ->type_name("FILE");
  command->add_flag("--after-restart", choice.was_restarted,
                    "Go on although that server was restarted: it has all that it was given");
  command->footer(kExportFooter);
  return command;
}

}  // namespace millrace::tools
