#pragma once

#include <string_view>

#include "base/result.hpp"
#include "faktory/session/command.hpp"

namespace millrace::faktory {

/// Reads what follows the verb:
///
///     track = "GET" " " jid / "SET" " " object
///
/// The subcommand is in any case. The object's members are `jid`, `percent`, `desc` and
/// `reserve_until`; others are ignored, and of several with one name the last counts.
[[nodiscard]] Result<Command, Refused> parse_track(std::string_view argument);

}  // namespace millrace::faktory
