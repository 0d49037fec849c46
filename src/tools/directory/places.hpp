#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.hpp"

/// Directories and the files in them, by path.
namespace millrace::tools {

/// The file of a backup that says what belongs to it.
inline constexpr const char* kManifestName = "manifest";

/// True when `path` is the directory or lies in it, by any name. `path` need not exist.
[[nodiscard]] bool lies_in(const std::string& path, const std::string& directory);

/// Whether both are one directory. Neither need exist.
[[nodiscard]] bool is_same_place(const std::string& one, const std::string& other);

/// Refuses a target that is the source, or lies in it.
[[nodiscard]] Outcome<Done> refuse_inside(const std::string& path, const std::string& source);

/// The directory has a manifest.
[[nodiscard]] bool is_backup(const std::string& directory);

/// Refuses a backup, which no server may use.
[[nodiscard]] Outcome<Done> refuse_backup(const std::string& directory);

/// `millrace`, or `user 1001` where nobody has that number.
[[nodiscard]] std::string name_of_user(uid_t number);

/// A line for the report of a command that has made files in the directory, when they belong to
/// another user than the directory does: a server of that user could not open them. Else empty.
[[nodiscard]] std::string owner_warning(const std::string& directory);

}  // namespace millrace::tools
