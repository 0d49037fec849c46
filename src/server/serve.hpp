#pragma once

#include "core/result.hpp"
#include "server/config.hpp"
#include "server/logging.hpp"

namespace millrace::server {

/// Runs the server that `config` asks for until SIGTERM or SIGINT: prints one line for each open
/// port and then `ready` to stdout. SIGUSR1 makes the beanstalk door refuse new jobs. A problem
/// means that it could not start.
[[nodiscard]] Outcome<Done> serve(const Config& config, const Log& log);

}  // namespace millrace::server
