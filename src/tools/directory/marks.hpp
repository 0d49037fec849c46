#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/model/record.hpp"
#include "core/model/types.hpp"
#include "journal/file/file_system.hpp"

/// Small files in a data directory which say that an import, an export or a restore has begun there
/// and not ended. They are whole or not there.
namespace millrace::tools {

/// What a server counts: runs, and those of past days.
struct RunCounts {
  CountersChanged counters;  ///< `next_id` is none of it
  std::vector<DayCounts> days;

  bool operator==(const RunCounts&) const = default;
};

/// The file `import` in a data directory: an import into it has begun and not ended. No server
/// serves such a directory. The next import goes on: so the file says how the journal was before.
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

/// The import has ended, and its jobs are on the disk. When it returns, a power cut does not bring
/// the mark back.
[[nodiscard]] Outcome<Done> remove_import_mark(journal::FileSystem& files,
                                               const std::string& directory);

/// Refuses a directory with a mark.
[[nodiscard]] Outcome<Done> refuse_unfinished_import(const std::string& directory);

/// The file `export` in a data directory: its jobs were given to another server, or are being
/// given. No server serves such a directory, so that no job is run at both places.
struct ExportMark {
  std::string target;         ///< one line, without secrets: only an export to it may go on
  std::string process;        ///< of the target: see `Receiver::process`
  Lsn log_end = 0;            ///< the journal that is exported ends there
  std::uint64_t salt = 0;     ///< see `Receiver::give`
  std::uint64_t refused = 0;  ///< jobs that the target does not take, of `given`
  std::uint64_t given = 0;    ///< jobs that need no further look, of `jobs`, in their order
  std::uint64_t jobs = 0;

  [[nodiscard]] bool is_done() const { return given == jobs; }
  bool operator==(const ExportMark&) const = default;
};

/// Where the mark of a directory is.
[[nodiscard]] std::string export_mark_path(const std::string& directory);

/// nullopt: there is none, or no directory.
[[nodiscard]] Outcome<std::optional<ExportMark>> read_export_mark(journal::FileSystem& files,
                                                                  const std::string& directory);

/// When it returns, the mark survives a power cut.
[[nodiscard]] Outcome<Done> write_export_mark(journal::FileSystem& files,
                                              const std::string& directory, const ExportMark& mark);

/// Refuses a directory with a mark.
[[nodiscard]] Outcome<Done> refuse_exported(const std::string& directory);

/// The file in a directory that says that a restore has begun there and not ended.
inline constexpr const char* kRestoreName = "restore";

/// Refuses a directory with a restore that has not ended.
[[nodiscard]] Outcome<Done> refuse_unfinished_restore(const std::string& directory);

/// Refuses a data directory in which an import or a restore has begun and not ended: what it has is
/// not all that it should have. To be called before anything else is done with one.
[[nodiscard]] Outcome<Done> refuse_unfinished(const std::string& directory);

/// The same, and refuses a directory whose jobs were exported: served, or served in a copy, they
/// would be run at two places.
[[nodiscard]] Outcome<Done> refuse_unfinished_or_exported(const std::string& directory);

/// The same, and refuses a backup. For a server.
[[nodiscard]] Outcome<Done> refuse_unservable(const std::string& directory);

}  // namespace millrace::tools
