#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/options/config.hpp"

namespace millrace::server {

/// The result of reading the command line of `faktory`: options, texts for stdout and stderr, and
/// an exit status if the process is to end at once.
struct FaktoryInvocation {
  Config config;
  std::string output;
  std::string errors;
  std::optional<int> exit_status = std::nullopt;
};

/// True when the program was started under that name, with or without a path; a link does that.
[[nodiscard]] bool is_called_as_faktory(std::string_view program);

/// Reads the flags of Faktory 1.10, its environment (FAKTORY_ENV, FAKTORY_PASSWORD,
/// FAKTORY_SKIP_PASSWORD, HOME), MILLRACE_WEB_HOST and MILLRACE_WORKER_TIMEOUT for what Faktory
/// does not have, and its config directory: `conf.d/*.toml`, and a certificate with its key, which
/// switch TLS on. What has no effect is in `Config::ignored_keys`. Without HOME, the user's home is
/// that of the password database.
[[nodiscard]] FaktoryInvocation read_faktory_invocation(const std::vector<std::string>& arguments);

}  // namespace millrace::server
