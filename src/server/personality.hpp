#pragma once

#include <string>

#include "core/result.hpp"

namespace millrace::server {

/// How the server behaves as a process, which depends on the name that it was called by and which
/// no option changes.
struct Personality {
  enum class Announcement {
    kDoors,       ///< a line for each door, and then `ready`
    kBeanstalkd,  ///< the process, what it is bound to, who comes and goes, in beanstalkd's words
    kNone,        ///< nor is there anything on stderr in a normal run
  };
  Announcement announcement = Announcement::kDoors;
  bool reloads = true;            ///< SIGHUP reads secrets anew; else it ends the process
  bool waits_for_clients = true;  ///< in the end; else they are left behind at once
  /// Refuses a data directory that holds what another server has stored. Null: there is none.
  Outcome<Done> (*check_directory)(const std::string& directory) = nullptr;
};

}  // namespace millrace::server
