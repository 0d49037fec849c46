#pragma once

#include <string>

#include "base/result.hpp"

namespace millrace::engines {

/// Refuses a URL by which no log can be opened, whatever its engine says: with another scheme, or
/// with a host, port, name or parameter that does not fit. Asks no engine. The problem is one line
/// without user and password.
[[nodiscard]] Outcome<Done> check_log_url(const std::string& url);

/// The URL of a log as it may be shown and logged: without user, password and parameters, but for
/// the one that names a table.
[[nodiscard]] std::string shown_url(const std::string& url);

}  // namespace millrace::engines
