#pragma once

#include "cli/session.hpp"
#include "tools/doctor/findings.hpp"

namespace millrace::tools {

/// A running server, as its web port shows it.
[[nodiscard]] cli::Reply<Done> check_server(cli::Session& session, Findings& found);

}  // namespace millrace::tools
