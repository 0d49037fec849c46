#pragma once

#include <string>

#include "base/result.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

inline constexpr std::size_t kPasswordBytesMax = 4096;

/// The password in a file, without the white space around it. A file that everybody may read gets a
/// warning: secrets that orchestrators mount often are like that.
[[nodiscard]] Outcome<std::string> read_password_file(const std::string& path, const Log& log);

}  // namespace millrace::server
