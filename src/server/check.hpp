#pragma once

#include <string>

#include "core/result.hpp"

namespace millrace::server {

/// Reads the journal in `directory` from end to end and tells, in lines for a person, its segments,
/// its records, and the jobs that a server would start with. Changes nothing and takes no lock, so
/// what a running server writes meanwhile may look like a torn tail. A problem: damage, a version
/// that this program does not know, or no journal there.
[[nodiscard]] Outcome<std::string> check_journal(const std::string& directory);

}  // namespace millrace::server
