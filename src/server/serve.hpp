#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "server/options/config.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

/// Why the server could not start.
struct StartFailure {
  enum class Step {
    kListen,       ///< a port
    kFindUser,     ///< nobody of that name
    kBecomeUser,   ///< not allowed
    kOpenJournal,  ///< the directory is missing, in use, or not for us
    kOther,
  };
  Step step;
  std::string text;
};

/// How a server ended that had started.
struct Ended {
  int signal;  ///< SIGTERM or SIGINT
};

/// Reads once more where options come from.
using ReadConfig = std::function<Outcome<Config>()>;

/// Runs the server that `config` asks for until SIGTERM or SIGINT: prints one line for each open
/// port and then `ready` to stdout. SIGUSR1 makes the beanstalk door refuse new jobs. As
/// `beanstalkd` it prints nothing unless asked to, and does not wait for clients in the end.
/// On SIGHUP it asks `read_config` anew and takes over what may change while it serves; where it is
/// empty, `config` stays what is asked for, and only the files that it names are read.
[[nodiscard]] Result<Ended, StartFailure> serve(const Config& config, const Log& log,
                                                const ReadConfig& read_config = {});

}  // namespace millrace::server
