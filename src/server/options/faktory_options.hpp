#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/options/config.hpp"

namespace millrace::server {

/// What the command line of `faktory` asks for, and says: texts for stdout and stderr, and a status
/// when the process is to end with it at once.
struct FaktoryInvocation {
  Config config;
  std::string output;
  std::string errors;
  std::optional<int> exit_status = std::nullopt;
  /// What stands in `conf.d` and was passed over: tables, and keys of tables that count.
  std::vector<std::string> ignored_keys = {};
};

/// True when the program was called by that name, with or without a path: a link does that.
[[nodiscard]] bool is_called_as_faktory(std::string_view program);

/// Reads the flags of Faktory 1.10, its environment (FAKTORY_ENV, FAKTORY_PASSWORD,
/// FAKTORY_SKIP_PASSWORD, HOME), and its config directory: `conf.d/*.toml`, and the certificate and
/// key, which make the port speak TLS. Everything of the commercial editions is passed over.
[[nodiscard]] FaktoryInvocation read_faktory_invocation(const std::vector<std::string>& arguments);

}  // namespace millrace::server
