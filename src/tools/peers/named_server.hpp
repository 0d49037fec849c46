#pragma once

#include "base/result.hpp"
#include "cli/choice.hpp"

/// Where verbs find their server.
namespace millrace::tools {

/// The server that the environment names, where the arguments name none. A server whose port is the
/// usual one has its other ports at the usual places, too, and they speak TLS when that one does. A
/// problem: a variable makes no sense, or does not tell the port that the verb needs.
[[nodiscard]] Outcome<Done> take_server(cli::Choice& choice);

/// Nothing is checked with the certificates of --ca where nothing is encrypted. `doctor` looks at
/// its own target.
[[nodiscard]] Outcome<Done> check_ca(const cli::Choice& choice);

}  // namespace millrace::tools
