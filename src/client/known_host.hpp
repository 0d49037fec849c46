#pragma once

#include <string>

namespace millrace::client {

/// Whether the system finds an address of this host. It may ask the network.
[[nodiscard]] bool is_known_host(const std::string& host);

}  // namespace millrace::client
