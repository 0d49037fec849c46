#pragma once

#include <string>

#include "base/result.hpp"
#include "tools/directory/check.hpp"

namespace millrace::tools {

/// Copies all undamaged batches of the journal in `directory` to a new journal in `new_directory`,
/// which must be missing or empty. Reports the contents of the copy and each loss; with losses,
/// `damage` says how many. If the end of a job was lost, the job exists again in the copy. If its
/// begin was lost, the job is missing.
[[nodiscard]] Outcome<JournalReport> salvage_journal(const std::string& directory,
                                                     const std::string& new_directory);

}  // namespace millrace::tools
