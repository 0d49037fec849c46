#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/journal.hpp"
#include "journal/file_system.hpp"

namespace millrace::journal {

/// What was found in a damaged log, and what was not.
struct Salvaged {
  std::uint64_t batches = 0;
  std::vector<std::string>
      losses;  ///< what could not be read, a line each, in the order of the log
};

/// Hands every batch of the directory's segments that is whole to `visitor`, in the order of the
/// log, and passes over what is damaged. Changes nothing. A problem: the directory cannot be read,
/// or `visitor` has one.
[[nodiscard]] Outcome<Salvaged> salvage(FileSystem& files, const std::string& directory,
                                        const Journal::Visitor& visitor);

}  // namespace millrace::journal
