#pragma once

#include <string>

#include "base/result.hpp"

namespace millrace::server {

/// Whose rights the process is to have.
struct User {
  std::string name;
  unsigned int user_id = 0;
  unsigned int group_id = 0;
};

/// An entry of the system's table of users.
[[nodiscard]] Outcome<User> find_user(const std::string& name);

/// Gives up all rights but those of the user: group, supplementary groups, user. There is no way
/// back. Nothing happens when they are the process's already.
[[nodiscard]] Outcome<Done> become(const User& user);

}  // namespace millrace::server
