#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "journal/file/file_system.hpp"

/// The file `export` in a data directory: its jobs were given to another server, or are being
/// given. No server serves such a directory, so that no job is run at both places.
namespace millrace::tools {

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

}  // namespace millrace::tools
