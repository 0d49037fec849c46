#pragma once

#include <string>

#include "base/result.hpp"

namespace millrace::server {

/// Tells the service manager that clients are served now, by systemd's protocol: a datagram to the
/// socket that NOTIFY_SOCKET names. `socket` is its path; with `@` in front it has a name without a
/// file. Empty: nobody waits for it, and nothing happens. It does not block.
[[nodiscard]] Outcome<Done> tell_ready(const std::string& socket);

}  // namespace millrace::server
