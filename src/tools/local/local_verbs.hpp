#pragma once

#include "cli/options/verb_rows.hpp"

/// Verbs that use more of this program than a connection to a server.
namespace millrace::tools {

cli::Exit serve_for_development(cli::Session& session);
cli::Exit look_for_trouble(cli::Session& session);
cli::Exit measure_machine(cli::Session& session);

}  // namespace millrace::tools
