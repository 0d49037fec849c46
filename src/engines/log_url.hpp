#pragma once

#include <string>

namespace millrace::engines {

/// The URL of a log as it may be shown and logged: without user, password and parameters, but for
/// the one that names a table.
[[nodiscard]] std::string shown_url(const std::string& url);

}  // namespace millrace::engines
