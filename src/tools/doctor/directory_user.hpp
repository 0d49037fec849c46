#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string_view>

namespace millrace::tools {

/// The process that has locked the directory, as a server does; nullopt: none, or it is one that
/// this process cannot see, as in another container. Takes no lock itself: a server that starts in
/// this moment would be refused.
[[nodiscard]] std::optional<pid_t> user_of_directory(const struct stat& directory);

/// The same from the text of /proc/locks.
[[nodiscard]] std::optional<pid_t> holder_in(std::string_view locks, const struct stat& file);

}  // namespace millrace::tools
