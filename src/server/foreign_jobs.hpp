#pragma once

#include <string>

#include "base/result.hpp"

namespace millrace::server {

/// Refuses a directory with files of beanstalkd (`binlog.N`) or Faktory (`faktory.rdb`). Its
/// own journal next to them would make their jobs seem lost. The problem names the command that
/// imports them. A directory that cannot be listed passes: opening the journal then reports the
/// problem.
[[nodiscard]] Outcome<Done> refuse_foreign_jobs(const std::string& directory);

}  // namespace millrace::server
