#pragma once

#include <string>

#include "core/result.hpp"
#include "server/config.hpp"
#include "server/logging.hpp"

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

/// Runs the server that `config` asks for until SIGTERM or SIGINT: prints one line for each open
/// port and then `ready` to stdout. SIGUSR1 makes the beanstalk door refuse new jobs. As
/// `beanstalkd` it prints nothing unless asked to, and does not wait for clients in the end.
[[nodiscard]] Result<Ended, StartFailure> serve(const Config& config, const Log& log);

}  // namespace millrace::server
