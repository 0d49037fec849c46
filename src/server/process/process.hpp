#pragma once

#include <cstdint>
#include <string>
#include <system_error>

#include "base/result.hpp"
#include "beanstalk/settings.hpp"

/// Facts about the process and the machine, random numbers from the system, and the end without
/// memory.
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

/// Raises the limit of open files to its hard limit. Returns the new limit.
std::uint64_t raise_descriptor_limit();

}  // namespace millrace::server
