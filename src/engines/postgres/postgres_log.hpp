#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "engines/open.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::engines {

/// A log in a table of PostgreSQL. The URL's parameter `millrace_log` names the table, which is
/// made when it is not there.
[[nodiscard]] Outcome<std::unique_ptr<journal::LogService>> open_postgres_log(
    const std::string& url, const Options& options);

}  // namespace millrace::engines
