#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "engines/open.hpp"

namespace millrace::engines {

/// Refuses a URL by which no log can be opened, whatever its engine says: with another scheme, or
/// with a host, port, name or parameter that does not fit. Asks no engine. The problem is one line
/// without user and password.
[[nodiscard]] Outcome<Done> check_log_url(const std::string& url);

/// What a machine between here and the engine can do, in one line: read along without TLS, or stand
/// for the engine where its certificate is not checked. Empty: nothing, or the URL is refused.
[[nodiscard]] std::string exposure_of(const std::string& url, const Options& options);

/// The URL of a log as it may be shown and logged: without user, password and parameters, but for
/// the one that names a table.
[[nodiscard]] std::string shown_url(const std::string& url);

/// Whether what is sent to this host stays on this machine: a name or an address of loopback, or
/// the path of a socket (empty: libpq's default one).
[[nodiscard]] bool stays_on_this_machine(std::string_view host);

}  // namespace millrace::engines
