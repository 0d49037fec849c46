#pragma once

#include <string>

#include "base/result.hpp"
#include "journal/file/file_system.hpp"

namespace millrace::journal {

/// Makes `destination`, which must not exist or be empty, hold the log of `directory` as it was at
/// one moment during the call. A server may be using the directory: it is not disturbed, and what
/// it had acknowledged before the call is in the copy.
///
/// Segments that are complete never change, and are shared with the directory where the file system
/// can (hard links), else copied; of the last one, whole frames are copied. Returns when the copy
/// is on stable storage. After a problem `destination` is empty.
[[nodiscard]] Outcome<Done> back_up(FileSystem& files, const std::string& directory,
                                    const std::string& destination);

}  // namespace millrace::journal
