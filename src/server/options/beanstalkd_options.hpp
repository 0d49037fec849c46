#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/options/config.hpp"

namespace millrace::server {

/// What the command line of `beanstalkd` asks for, and says: texts for stdout and stderr, and a
/// status when the process is to end with it at once.
struct BeanstalkdInvocation {
  Config config;
  std::string output;
  std::string errors;
  std::optional<int> exit_status = std::nullopt;
};

/// True when the program was called by that name, with or without a path: a link does that.
[[nodiscard]] bool is_called_as_beanstalkd(std::string_view program);

/// Reads the flags of beanstalkd 1.13, as it does: short ones, which may be bundled, with values
/// attached or behind.
[[nodiscard]] BeanstalkdInvocation read_beanstalkd_invocation(
    const std::vector<std::string>& arguments);

}  // namespace millrace::server
