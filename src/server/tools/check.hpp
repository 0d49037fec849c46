#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"

namespace millrace::server {

/// What is told of a journal.
struct JournalReport {
  std::string text;                   ///< lines for a person
  std::optional<std::string> damage;  ///< why a server does not start on it: one line
};

/// Reads the journal in `directory` from end to end and tells its segments, all that is damaged,
/// and the jobs that are there without it. Changes nothing and takes no lock, so what a running
/// server writes meanwhile may look like a torn tail. Bodies are not kept in memory. A problem: a
/// version that this program does not know, or no journal there.
[[nodiscard]] Outcome<JournalReport> check_journal(const std::string& directory);

}  // namespace millrace::server
