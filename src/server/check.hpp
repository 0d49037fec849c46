#pragma once

#include <string>

#include "core/result.hpp"

namespace millrace::server {

/// Reads the journal in `directory` from end to end and tells, in lines for a person, its segments,
/// its records, and the jobs that a server would start with. Changes nothing and takes no lock, so
/// what a running server writes meanwhile may look like a torn tail. A problem: damage, a version
/// that this program does not know, or no journal there.
[[nodiscard]] Outcome<std::string> check_journal(const std::string& directory);

/// Copies what is whole in the journal of `directory` into a new one in `new_directory`, which must
/// not exist or be empty, and tells what was lost and what the new one holds. A job whose end was
/// lost is there again; one whose beginning was lost is not.
[[nodiscard]] Outcome<std::string> salvage_journal(const std::string& directory,
                                                   const std::string& new_directory);

/// Copies the journal of `directory`, which a server may be using, to `destination`, reads the copy
/// and tells what it holds. See journal/backup.hpp.
[[nodiscard]] Outcome<std::string> back_up_journal(const std::string& directory,
                                                   const std::string& destination);

}  // namespace millrace::server
