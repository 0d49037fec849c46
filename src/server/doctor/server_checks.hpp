#pragma once

#include "cli/session.hpp"
#include "server/doctor/findings.hpp"

namespace millrace::server {

/// A running server, as its web port shows it.
[[nodiscard]] cli::Reply<Done> check_server(cli::Session& session, Findings& found);

}  // namespace millrace::server
