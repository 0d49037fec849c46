#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace millrace::tools {

/// What `millrace users` is asked to do.
struct UsersChoice {
  std::string action;  ///< `check`, `list`, `explain` or `hash`
  std::vector<std::string>
      words;  ///< FILE; of `explain` also USER, RIGHT and QUEUE; of `hash` none
};

/// The text for stdout. `hash` reads a password from stdin, and asks for it on a terminal.
[[nodiscard]] Outcome<std::string> work_on_users(const UsersChoice& choice);

}  // namespace millrace::tools
