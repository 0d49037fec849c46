#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/types.hpp"
#include "journal/file_system.hpp"

/// The files of a log as they lie in their directory, whether whole or damaged.
namespace millrace::journal {

/// Where the directory's segments begin, in order.
[[nodiscard]] Outcome<std::vector<Lsn>> segments_in(FileSystem& files,
                                                    const std::string& directory);

/// The file's bytes; fewer than its size where it became shorter meanwhile.
[[nodiscard]] Outcome<std::string> contents_of(FileSystem& files, const std::string& path);

}  // namespace millrace::journal
