#pragma once

#include <cstdint>
#include <string>

#include "beanstalk/settings.hpp"

/// What the protocols show of the process that they run in, and what they need from the system.
namespace millrace::server {

struct HostFacts {
  std::string hostname;  ///< uname: nodename
  std::string os;        ///< uname: version
  std::string platform;  ///< uname: machine
};

[[nodiscard]] HostFacts host_facts();

[[nodiscard]] std::int64_t process_id();

/// From the system's generator, good enough for salts.
[[nodiscard]] std::uint64_t random_number();

/// 16 hexadecimal digits, new at each call.
[[nodiscard]] std::string random_instance_id();

[[nodiscard]] beanstalk::ProcessUsage process_usage();

/// Resident memory; 0 where the system does not tell.
[[nodiscard]] std::uint64_t used_memory_bytes();
[[nodiscard]] std::uint64_t used_memory_mb();

/// Of the machine; 0 where the system does not tell.
[[nodiscard]] std::uint64_t machine_memory_bytes();

/// Allows as many open files as the system lets us. Answers how many.
std::uint64_t raise_descriptor_limit();

}  // namespace millrace::server
