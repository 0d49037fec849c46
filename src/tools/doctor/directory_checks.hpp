#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace millrace::tools {

/// What one check has seen, in words for a person.
struct Finding {
  const char* check;  ///< a word for programs: `disk`
  std::string seen;
  std::string means = {};    ///< empty: all is well
  std::string to_do = {};    ///< with `means`
  std::string command = {};  ///< to paste into a shell: it does that; empty: there is none

  [[nodiscard]] bool is_well() const { return means.empty(); }
};

using Findings = std::vector<Finding>;

/// A data directory, its disk and its journal. Nothing in it is changed: a server may be running. A
/// problem: the directory cannot be looked at.
[[nodiscard]] Outcome<Done> check_directory_of_data(const std::string& directory, Findings& found);

/// Who can read the password.
[[nodiscard]] Outcome<Finding> check_password_file(const std::string& path);

/// The process that has locked the directory, as a server does; nullopt: none, or it is one that
/// this process cannot see, as in another container. Takes no lock itself: a server that starts in
/// this moment would be refused.
[[nodiscard]] std::optional<pid_t> user_of_directory(const struct stat& directory);

/// The same from the text of /proc/locks.
[[nodiscard]] std::optional<pid_t> holder_in(std::string_view locks, const struct stat& file);

}  // namespace millrace::tools
