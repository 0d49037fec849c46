#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/options/config.hpp"

namespace millrace::server {

/// The result of reading the command line of `beanstalkd`: options, texts for stdout and stderr,
/// and an exit status if the process is to end at once.
struct BeanstalkdInvocation {
  Config config;
  std::string output;
  std::string errors;
  std::optional<int> exit_status = std::nullopt;
};

/// True when the program was started under that name, with or without a path; a link does that.
[[nodiscard]] bool is_called_as_beanstalkd(std::string_view program);

/// Reads the flags of beanstalkd 1.13 as it does: short flags, which may be bundled. A value
/// follows its flag directly or as the next argument.
[[nodiscard]] BeanstalkdInvocation read_beanstalkd_invocation(
    const std::vector<std::string>& arguments);

}  // namespace millrace::server
