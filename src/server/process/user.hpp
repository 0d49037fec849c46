#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"

namespace millrace::server {

/// A user of the system, to run the process as.
struct User {
  std::string name;
  unsigned int user_id = 0;
  unsigned int group_id = 0;
};

/// Looks up a user by name.
[[nodiscard]] Outcome<User> find_user(const std::string& name);

[[nodiscard]] bool is_root();
/// The home directory of the user that runs the process; nullopt: the system knows none.
[[nodiscard]] std::optional<std::string> find_home();

/// Switches the process to the user, with group and supplementary groups, for good. Does nothing if
/// the process runs as that user already.
[[nodiscard]] Outcome<Done> become(const User& user);

}  // namespace millrace::server
