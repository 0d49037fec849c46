#pragma once

#include <string>

#include "base/result.hpp"
#include "tools/directory/check.hpp"

namespace CLI {
class App;
}

namespace millrace::tools {

/// What `millrace export` is told.
struct ExportChoice {
  std::string directory;       ///< the data directory of a stopped server
  std::string to;              ///< see `parse_beanstalk_address` and `parse_faktory_address`
  std::string ca_file = {};    ///< certificates to trust; empty: those of the system
  bool was_restarted = false;  ///< the other server was, and has all that it was given
  std::string password = {};   ///< of the Faktory port, where `to` has none
};

/// Gives the jobs of a stopped server to another one that runs. The journal stays as it is; a mark
/// in the directory keeps servers away, and lets an export that was cut short go on. Reports per
/// queue and state what there was and what the other server has, and why not. `damage`: some jobs
/// were not taken there.
[[nodiscard]] Outcome<JournalReport> export_jobs(const ExportChoice& choice);

/// A fault of the command line; Done: there is none.
[[nodiscard]] Outcome<Done> check_export(const ExportChoice& choice);

/// Adds `millrace export`; `choice` outlives the app.
CLI::App* add_export_command(CLI::App& app, ExportChoice& choice);

}  // namespace millrace::tools
