#pragma once

#include "base/result.hpp"
#include "server/options/config.hpp"

namespace millrace::server {

/// Refuses options that contradict each other, wherever each came from. Each alone is valid.
[[nodiscard]] Outcome<Done> check_together(const Config& config);

/// The same for those about the engine of a shared log.
[[nodiscard]] Outcome<Done> check_engine(const Config& config);

/// SIGHUP exchanges a certificate, but only a restart switches encryption on or off.
[[nodiscard]] bool is_same_tls(const Config& a, const Config& b);
/// SIGHUP exchanges a password, but never leaves open ports without one.
[[nodiscard]] bool keeps_password(const Config& a, const Config& b);

}  // namespace millrace::server
