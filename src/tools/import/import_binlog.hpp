#pragma once

#include "base/result.hpp"
#include "tools/import/import.hpp"

namespace millrace::tools {

/// The jobs of beanstalkd's binlog in `choice.beanstalkd`. They keep their ids in a directory that
/// had no jobs before; in others the same number is added to each.
[[nodiscard]] Outcome<JournalReport> import_binlog(const ImportChoice& choice);

}  // namespace millrace::tools
