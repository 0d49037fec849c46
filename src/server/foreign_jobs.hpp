#pragma once

#include <string>

#include "base/result.hpp"

namespace millrace::server {

/// Refuses a directory that holds what beanstalkd (`binlog.N`) or Faktory (`faktory.rdb`) has
/// stored: it cannot be read, and a journal beside it would make its jobs seem to be gone. A
/// directory that cannot be listed holds nothing as far as this goes.
[[nodiscard]] Outcome<Done> refuse_foreign_jobs(const std::string& directory);

}  // namespace millrace::server
