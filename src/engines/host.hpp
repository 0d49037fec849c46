#pragma once

#include <string_view>

namespace millrace::engines {

/// Whether what is sent to this host stays on this machine: a name or an address of loopback, or
/// the path of a socket (empty: libpq's default one).
[[nodiscard]] bool stays_on_this_machine(std::string_view host);

}  // namespace millrace::engines
