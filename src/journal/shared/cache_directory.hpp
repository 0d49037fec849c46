#pragma once

#include <string>

#include "base/result.hpp"
#include "journal/file/file_system.hpp"

/// The directory of a server that shares a log. The journal in it is a cache of that log, and a
/// file named `cache` says so: only where that is, the journal may be thrown away. A file named
/// `moved` says that the jobs of a journal were moved to a shared log.
namespace millrace::journal {

enum class DirectoryContent {
  kNothing,
  kCache,        ///< of a shared log
  kBrokenCache,  ///< the same, and it must be emptied
  kJournal,      ///< of a server that shares no log: it may have jobs that are nowhere else
  kMoved,        ///< the same, and its jobs were moved to a shared log
};

/// A directory that is not there is created, and has nothing in it.
[[nodiscard]] Outcome<DirectoryContent> look_into(FileSystem& files, const std::string& directory);

/// Creates the directory when it is missing, and says that a cache is in it.
[[nodiscard]] Outcome<Done> mark_as_cache(FileSystem& files, const std::string& directory);

/// What was a cache is the journal of a server that shares no log from now on.
[[nodiscard]] Outcome<Done> unmark_cache(FileSystem& files, const std::string& directory);

/// The jobs of the journal were moved to that log, whose URL has no secrets. When it returns, the
/// mark survives a power cut.
[[nodiscard]] Outcome<Done> mark_as_moved(FileSystem& files, const std::string& directory,
                                          const std::string& log);

/// That log; empty: none, or the mark was not finished.
[[nodiscard]] Outcome<std::string> moved_to(FileSystem& files, const std::string& directory);

/// The cache cannot be used any more. Problems are ignored, since the process is about to end.
void mark_as_broken(FileSystem& files, const std::string& directory);

/// Removes the journal, so that it is filled anew. Nobody may use it. A directory that is not
/// marked is left as it is.
[[nodiscard]] Outcome<Done> empty_cache(FileSystem& files, const std::string& directory);

}  // namespace millrace::journal
