#pragma once

#include <string>

#include "base/result.hpp"
#include "server/tools/check.hpp"

namespace millrace::server {

/// Copies all undamaged batches of the journal in `directory` to a new journal in `new_directory`,
/// which must be missing or empty. Reports the contents of the copy and each loss; with losses,
/// `damage` says how many. If the end of a job was lost, the job exists again in the copy. If its
/// begin was lost, the job is missing.
[[nodiscard]] Outcome<JournalReport> salvage_journal(const std::string& directory,
                                                     const std::string& new_directory);

/// Copies the journal of `directory`, which a server may be using, to `destination`, and reports
/// the contents of the copy. A damaged journal is a problem. See journal/file/backup.hpp.
[[nodiscard]] Outcome<JournalReport> back_up_journal(const std::string& directory,
                                                     const std::string& destination);

}  // namespace millrace::server
