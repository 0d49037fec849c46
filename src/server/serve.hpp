#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "server/options/config.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

/// Why the server could not start.
struct StartFailure {
  enum class Step {
    kConfigure,    ///< a file that an option names cannot be used
    kListen,       ///< a port cannot be opened
    kFindUser,     ///< no user of that name
    kBecomeUser,   ///< switching to the user is not permitted
    kOpenJournal,  ///< the data directory is missing, in use, damaged, or not usable
    kOther,
  };
  Step step;
  std::string text;  ///< one line: what is wrong and, where that helps, what to do
};

/// How a server that had started ended.
struct Ended {
  std::optional<int> signal;  ///< SIGTERM or SIGINT; nullopt: another server leads the log
};

/// What `serve` asks whoever started it.
struct Starter {
  /// Reads the options again: arguments, environment and config file. Empty: the options stay.
  std::function<Outcome<Config>()> read_config;
  /// Refuses a data directory that something else than a server uses, or has left as it is.
  std::function<Outcome<Done>(const std::string& directory)> check_directory;
};

/// Reads the files that the options name, as a start does, and logs what has no effect. A problem:
/// a server would not start with them.
[[nodiscard]] Outcome<Done> check_configuration(const Config& config, const Log& log);

/// Runs a server with `config` until SIGTERM or SIGINT. Prints one line for each open port to
/// stdout, and then `ready`. The personality may change that: see there.
/// SIGUSR1: beanstalk clients can put no new jobs. SIGHUP: reads the options again, and the files
/// that they name, and applies those that need no restart.
[[nodiscard]] Result<Ended, StartFailure> serve(const Config& config, const Log& log,
                                                const Starter& starter = {});

}  // namespace millrace::server
