#pragma once

#include <string>

#include "base/result.hpp"
#include "server/tools/check.hpp"

namespace millrace::server {

/// Copies what is whole in the journal of `directory` into a new one in `new_directory`, which must
/// not exist or be empty, and tells what was lost and what the new one holds; `damage` is then a
/// line that says so. A job whose end was lost is there again; one whose beginning was lost is not.
[[nodiscard]] Outcome<JournalReport> salvage_journal(const std::string& directory,
                                                     const std::string& new_directory);

/// Copies the journal of `directory`, which a server may be using, to `destination`, reads the copy
/// and tells what it holds. A damaged journal is a problem. See journal/backup.hpp.
[[nodiscard]] Outcome<JournalReport> back_up_journal(const std::string& directory,
                                                     const std::string& destination);

}  // namespace millrace::server
