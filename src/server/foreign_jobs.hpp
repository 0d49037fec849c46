#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"

namespace millrace::server {

/// Jobs that another server has stored.
struct ForeignJobs {
  std::string seen;     ///< what is there, in words
  std::string owner;    ///< `beanstalkd` or `Faktory`
  std::string into;     ///< a data directory for them
  std::string command;  ///< takes them there, once the owner is stopped
};

/// Those in files of beanstalkd (`binlog.N`) or Faktory (`faktory.rdb`). nullopt: there are none,
/// or the directory cannot be listed.
[[nodiscard]] std::optional<ForeignJobs> find_foreign_jobs(const std::string& directory);

/// Refuses a directory with such files. Its own journal next to them would make their jobs seem
/// lost. The problem names the command that imports them. A directory that cannot be listed passes:
/// opening the journal then reports the problem.
[[nodiscard]] Outcome<Done> refuse_foreign_jobs(const std::string& directory);

}  // namespace millrace::server
