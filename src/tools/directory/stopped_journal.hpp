#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file_journal.hpp"

namespace millrace::tools {

/// The file journal of a directory that no server uses, for reading. Locks it; `files` outlives it.
/// Refused: a directory without a journal, a cache of a shared log, and one in which an import or a
/// restore has not ended. Nothing is written then.
[[nodiscard]] Outcome<std::unique_ptr<journal::FileJournal>> open_stopped_journal(
    journal::FileSystem& files, const std::string& directory);

}  // namespace millrace::tools
