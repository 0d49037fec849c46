#pragma once

#include <string>

namespace millrace::server {

/// What `--version` prints: `millrace` and the version in the first line, then a line for the
/// commit and one for the features. Without a newline at the end. The commit is `unknown` where
/// neither git nor a file told it when the program was built.
[[nodiscard]] std::string version_text();

}  // namespace millrace::server
