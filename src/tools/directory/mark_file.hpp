#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "journal/file/file_system.hpp"

/// Small files in a data directory which say that something has begun there and not ended. They are
/// whole or not there.
namespace millrace::tools {

/// The text of the file; nullopt: there is none, or no directory.
[[nodiscard]] Outcome<std::optional<std::string>> read_mark_file(journal::FileSystem& files,
                                                                 const std::string& directory,
                                                                 std::string_view name);

/// Writes the file, or replaces it. When it returns, the file survives a power cut.
[[nodiscard]] Outcome<Done> write_mark_file(journal::FileSystem& files,
                                            const std::string& directory, std::string_view name,
                                            std::string_view text);

/// When it returns, a power cut does not bring the file back.
[[nodiscard]] Outcome<Done> remove_mark_file(journal::FileSystem& files,
                                             const std::string& directory, std::string_view name);

}  // namespace millrace::tools
