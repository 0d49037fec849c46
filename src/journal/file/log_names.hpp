#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "journal/file/file_system.hpp"

namespace millrace::journal {

/// The files in a log's directory, by what their names say. Others are left alone.
struct LogNames {
  std::vector<Lsn> segments;          ///< where they begin, in order
  std::vector<std::string> reserved;  ///< names in the directory; see `Reserve`
  std::vector<std::string> removed;   ///< names in the directory; see `Removal`
  bool has_extent = false;            ///< see `ExtentFile`
  bool has_starts = false;            ///< see `LogStarts`
};

/// Lists the directory once. Somebody else may change it at any time, unless it is locked.
[[nodiscard]] Outcome<LogNames> names_in(FileSystem& files, const std::string& directory);

}  // namespace millrace::journal
