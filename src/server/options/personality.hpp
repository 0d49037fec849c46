#pragma once

namespace millrace::server {

/// How the process behaves under the name by which it was started: `millrace`, `faktory` or
/// `beanstalkd`. No option changes this.
struct Personality {
  enum class Announcement {
    kPorts,       ///< a line for each port, and then `ready`
    kBeanstalkd,  ///< like `beanstalkd -V`: process id, sockets, connections opened and closed
    kNone,        ///< nothing; a normal run writes nothing to stderr either
  };
  Announcement announcement = Announcement::kPorts;
  bool reloads = true;            ///< SIGHUP reloads the configuration; false: it ends the process
  bool waits_for_clients = true;  ///< at a stop; false: connections are closed at once
  bool makes_directory = true;    ///< create a missing data directory; false: refuse to start
  /// False: a web port without a password takes any Host, unless it listens on loopback only.
  bool checks_host_for_others = true;
  const char* web_hosts_option = "--web-host";  ///< what sets `Config::web_hosts`, for people
};

}  // namespace millrace::server
