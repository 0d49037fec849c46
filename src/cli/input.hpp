#pragma once

#include <string>

#include "cli/exit.hpp"
#include "cli/show/console.hpp"

/// What a verb is given besides its command line.
namespace millrace::cli {

/// All of stdin, to its end and without a change. `what` it is stands in messages: `body`.
[[nodiscard]] Reply<std::string> read_stdin(Console& console, const std::string& what);

/// The same of a file.
[[nodiscard]] Reply<std::string> read_file(const std::string& path, const std::string& what);

/// Whether stdin is worth reading where nobody said so. kSilent: an open pipe on which nothing has
/// come for a while, such as one that was inherited from a service and is never used.
enum class StdinState { kEmpty, kReadable, kSilent };
[[nodiscard]] StdinState look_at_stdin();

}  // namespace millrace::cli
