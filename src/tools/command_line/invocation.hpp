#pragma once

#include <string>
#include <vector>

#include "cli/choice.hpp"
#include "server/options/config.hpp"
#include "tools/backup/backup.hpp"
#include "tools/backup/restore.hpp"
#include "tools/export/export.hpp"
#include "tools/import/import.hpp"
#include "tools/users/users.hpp"

namespace millrace::tools {

/// What the program is to do, according to its command line.
struct Invocation {
  enum class Action {
    kServe,        ///< serve with `config`
    kCheckConfig,  ///< check `config` as a start does
    kCheck,  ///< check the journal in directory `text`; with `target`, salvage it to that directory
    kBackUp,      ///< copy a journal, as `backup` says
    kRestore,     ///< make a data directory of a backup, as `restore` says
    kMoveToLog,   ///< the jobs of `config.data` to `config.log`
    kMoveToFile,  ///< the jobs of `config.log` to `config.data`
    kImport,      ///< the jobs of another server, as `import` says
    kExport,      ///< to another server, as `exported` says
    kUsers,       ///< show or check a users file, as `users` says
    kAsk,         ///< ask a running server, or tell it something, as `ask` says
    kPrint,       ///< print `text` to stdout: help or version
    kShowUsage,   ///< print `text` to stdout: help, since there is no command
    kRefuse,      ///< print `text` to stderr, one line that says which argument is wrong
  };
  Action action = Action::kRefuse;
  server::Config config;
  std::string text;
  std::string target = {};
  ImportChoice import = {};
  ExportChoice exported = {};
  BackupChoice backup = {};
  RestoreChoice restore = {};
  UsersChoice users = {};
  cli::Choice ask = {};
  /// With kServe: environment variables that begin like those of options but are none. They have
  /// no effect.
  std::vector<std::string> unknown_variables = {};
};

/// Reads the arguments (without the program's name), the environment and the config file, in this
/// order of precedence. The environment has `MILLRACE_<FLAG>` for each flag, and FAKTORY_PASSWORD.
[[nodiscard]] Invocation read_invocation(const std::vector<std::string>& arguments,
                                         server::ConfigFile config_file = server::ConfigFile::kAny);

}  // namespace millrace::tools
