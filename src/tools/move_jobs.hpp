#pragma once

#include <string>

#include "base/result.hpp"
#include "server/options/config.hpp"
#include "server/process/logging.hpp"

namespace millrace::tools {

/// Puts the jobs of the journal in `config.data`, which no server uses, into the empty log of
/// `config.log`. Then marks the directory, so that no server serves them there as well. What ended
/// half-way is gone on with by the next call. Answers lines for the operator.
[[nodiscard]] Outcome<std::string> move_to_log(const server::Config& config,
                                               const server::Log& log);

/// Makes `config.data`, which is missing, empty, or the directory of a stopped node, a journal with
/// the jobs of the log. No node may lead the log, and none will any more. What ended half-way is
/// gone on with by the next call for the same directory; with `moves_again` for any. Answers lines
/// for the operator.
[[nodiscard]] Outcome<std::string> move_to_file(const server::Config& config,
                                                const server::Log& log);

}  // namespace millrace::tools
