#pragma once

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
  bool makes_directory = true;    ///< where there is none for the journal; else that is refused
};

}  // namespace millrace::server
