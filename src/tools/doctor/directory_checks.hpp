#pragma once

#include <string>

#include "base/result.hpp"
#include "tools/doctor/findings.hpp"

namespace millrace::tools {

/// A data directory, its disk and its journal. Nothing in it is changed: a server may be running. A
/// problem: the directory cannot be looked at.
[[nodiscard]] Outcome<Done> check_directory_of_data(const std::string& directory, Findings& found);

/// Who can read the password.
[[nodiscard]] Outcome<Finding> check_password_file(const std::string& path);

}  // namespace millrace::tools
