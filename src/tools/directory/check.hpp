#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace millrace::tools {

/// The result of reading a journal.
struct JournalReport {
  std::string text;                   ///< lines for the operator
  std::optional<std::string> damage;  ///< one line: why a server would not start; nullopt: it would
  /// A line for each job whose body could not be read, `kUnreadableNamed` at most, and how many
  /// more there are.
  std::vector<std::string> unreadable = {};
};

inline constexpr std::size_t kUnreadableNamed = 20;
/// What to do about them.
inline constexpr const char* kUnreadableAdvice =
    "retry these jobs; if a retry is refused, push the job again and delete the dead one";

/// Reads the whole journal in `directory`. Reports its segments, all damage, and the jobs in its
/// undamaged part. Changes nothing and takes no lock: the latest write of a running server may look
/// like a torn tail. Keeps no bodies in memory. It is a problem if there is no journal, or if its
/// version is unknown.
[[nodiscard]] Outcome<JournalReport> check_journal(const std::string& directory);

/// Copies all undamaged batches of the journal in `directory` to a new journal in `new_directory`,
/// which must be missing or empty. Reports the contents of the copy and each loss; with losses,
/// `damage` says how many. If the end of a job was lost, the job exists again in the copy. If its
/// begin was lost, the job is missing.
[[nodiscard]] Outcome<JournalReport> salvage_journal(const std::string& directory,
                                                     const std::string& new_directory);

}  // namespace millrace::tools
