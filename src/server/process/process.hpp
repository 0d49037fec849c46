#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include "base/result.hpp"
#include "beanstalk/settings.hpp"

/// Facts about the process and the machine, random numbers from the system, and the end without
/// memory.

/// How the limit of open files is shared, so that clients never take what the journal needs.

namespace millrace::server {

/// The new-handler of the program: ends it at once, with one line and status 1. A change that stops
/// half-way would leave half a record in a batch, and a log that nobody can read. What was
/// acknowledged is safe, as after `kill -9`.
void end_without_memory();

/// What to say of a thread that the system does not let us start.
[[nodiscard]] Problem no_thread(const std::system_error& error);

struct HostFacts {
  std::string hostname;  ///< uname: nodename
  std::string os;        ///< uname: version
  std::string platform;  ///< uname: machine
};

[[nodiscard]] HostFacts host_facts();

/// The same for two processes if, and only if, they reach each other over loopback: they are on one
/// machine, since it was started, and in one network namespace. Empty: not known.
[[nodiscard]] std::string loopback_name(const char* network_file = "/proc/self/ns/net");

[[nodiscard]] std::int64_t process_id();

/// From the random generator of the system, good enough for salts.
[[nodiscard]] std::uint64_t random_number();

/// 16 hexadecimal digits, new at each call.
[[nodiscard]] std::string random_instance_id();

/// The processor time of this process so far.
[[nodiscard]] beanstalk::ProcessUsage process_usage();

/// Resident memory of this process; 0 if unknown.
[[nodiscard]] std::uint64_t used_memory_bytes();
[[nodiscard]] std::uint64_t used_memory_mb();

/// Memory of the machine, or of the container if it has a limit; 0 if unknown.
[[nodiscard]] std::uint64_t machine_memory_bytes();

/// The cores that this process may use, or as many as the processor time of its container is worth.
[[nodiscard]] std::size_t machine_cores();

/// How many descriptors this process has now, those that it inherited included.
[[nodiscard]] std::uint64_t open_descriptors();

/// The memory has passwords and jobs. A debugger may still ask for a dump, and an administrator may
/// allow them again (prlimit).
void forbid_core_dumps();

/// Raises the limit of open files to its hard limit. Returns the new limit.
std::uint64_t raise_descriptor_limit();

/// A user of the system, to run the process as.
struct User {
  std::string name;
  unsigned int user_id = 0;
  unsigned int group_id = 0;
};

/// Looks up a user by name.
[[nodiscard]] Outcome<User> find_user(const std::string& name);

[[nodiscard]] bool is_root();
/// The home directory of the user that runs the process; nullopt: the system knows none.
[[nodiscard]] std::optional<std::string> find_home();

/// Switches the process to the user, with group and supplementary groups, for good. Does nothing if
/// the process runs as that user already.
[[nodiscard]] Outcome<Done> become(const User& user);

/// What a process has, and what it needs of that.
struct DescriptorNeeds {
  std::uint64_t limit = 0;         ///< of open files
  std::uint64_t open_already = 0;  ///< before anything was opened
  bool has_journal = false;        ///< on a disk
  bool has_web = false;
  std::size_t web_connections_max = 0;  ///< more are of no use
  std::size_t io_threads = 0;
};

struct ConnectionLimits {
  std::uint64_t clients = 0;  ///< of both job ports
  std::size_t web = 0;
};

/// How many connections there may be. A problem when the limit is too low to serve anybody.
[[nodiscard]] Outcome<ConnectionLimits> share_descriptors(const DescriptorNeeds& needs);

/// Those of the main loop, the ports, the start, files that are read now and then; the rest is for
/// what nobody thought of.
inline constexpr std::uint64_t kDescriptorsOfServer = 28;

/// Those of the journal at most: its directory, lock and extent; the present and the next segment;
/// five of the reserve, two while segments are removed; nine to read; one to spare.
inline constexpr std::uint64_t kDescriptorsOfJournal = 22;

/// Those of each thread for sockets. All of them share one more.
inline constexpr std::uint64_t kDescriptorsOfIoThread = 3;

/// With fewer connections a server is of no use.
inline constexpr std::uint64_t kConnectionsMin = 8;

/// The part of the connections that the web port may have, and how many are enough.
inline constexpr std::uint64_t kWebPart = 4;
inline constexpr std::size_t kWebConnectionsMax = 128;

/// What `--version` prints: `millrace` and the version in the first line, then a line for the
/// commit and one for the features. Without a newline at the end. The commit is `unknown` where
/// neither git nor a file told it when the program was built.
[[nodiscard]] std::string version_text();

}  // namespace millrace::server
