#pragma once

#include <sys/types.h>

#include <string>

/// Who can open the files of a data directory.
namespace millrace::tools {

/// `millrace`, or `user 1001` where nobody has that number.
[[nodiscard]] std::string name_of_user(uid_t number);

/// A line for the report of a command that has made files in the directory, when they belong to
/// another user than the directory does: a server of that user could not open them. Else empty.
[[nodiscard]] std::string owner_warning(const std::string& directory);

}  // namespace millrace::tools
