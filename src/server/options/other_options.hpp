#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/options/config.hpp"

namespace millrace::server {

/// The result of reading the command line of the program under the name of another server: options,
/// texts for stdout and stderr, and an exit status if the process is to end at once.
struct OtherInvocation {
  Config config;
  std::string output;
  std::string errors;
  std::optional<int> exit_status = std::nullopt;
};

/// Reads the flags of beanstalkd 1.13 as it does: short flags, which may be bundled. A value
/// follows its flag directly or as the next argument.
[[nodiscard]] OtherInvocation read_beanstalkd_invocation(const std::vector<std::string>& arguments);

/// Reads the flags of Faktory 1.10, its environment (FAKTORY_ENV, FAKTORY_PASSWORD,
/// FAKTORY_SKIP_PASSWORD, HOME), MILLRACE_WEB_HOST and MILLRACE_WORKER_TIMEOUT for what Faktory
/// does not have, and its config directory: `conf.d/*.toml`, and a certificate with its key, which
/// switch TLS on. What has no effect is in `Config::ignored_keys`. Without HOME, the user's home is
/// that of the password database.
[[nodiscard]] OtherInvocation read_faktory_invocation(const std::vector<std::string>& arguments);

}  // namespace millrace::server
