#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "journal/file/file_system.hpp"
#include "tools/directory/run_counts.hpp"

/// The file `import` in a data directory: an import into it has begun and not ended. No server
/// serves such a directory. The next import goes on: so the file says how the journal was before.
namespace millrace::tools {

struct ImportMark {
  std::string source;  ///< one line, without secrets: only its import may go on
  JobId first_id = 1;  ///< every job with this id or a greater one is of the import
  /// Before the import, without `next_id`. None: a mark of an earlier version.
  std::optional<RunCounts> counts = {};

  bool operator==(const ImportMark&) const = default;
};

/// nullopt: there is none, or no directory.
[[nodiscard]] Outcome<std::optional<ImportMark>> read_import_mark(journal::FileSystem& files,
                                                                  const std::string& directory);

/// When it returns, the mark survives a power cut.
[[nodiscard]] Outcome<Done> write_import_mark(journal::FileSystem& files,
                                              const std::string& directory, const ImportMark& mark);

/// The import has ended, and its jobs are on the disk.
[[nodiscard]] Outcome<Done> remove_import_mark(journal::FileSystem& files,
                                               const std::string& directory);

/// Refuses a directory with a mark.
[[nodiscard]] Outcome<Done> refuse_unfinished_import(const std::string& directory);

}  // namespace millrace::tools
