#pragma once

#include <string>

namespace millrace::cli {

/// Whether the system finds an address of this host. It may ask the network.
[[nodiscard]] bool is_known_host(const std::string& host);

}  // namespace millrace::cli
