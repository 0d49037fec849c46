#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "access/users.hpp"
#include "base/limits.hpp"

namespace millrace::beanstalk {

/// Processor time that the process has used.
struct ProcessUsage {
  std::chrono::microseconds user{};
  std::chrono::microseconds system{};
};

/// The files of the journal, as the numbers in their names.
struct Binlog {
  std::uint64_t oldest = 0;
  std::uint64_t current = 0;  ///< the one being written
};

/// What the operator chose, and what the process is, as `stats` shows it.
struct Settings {
  std::size_t job_bytes_max = kPutBytesMaxDefault;  ///< at most kBodyBytesMax
  /// What is shown as the size of the journal's files.
  std::uint64_t binlog_bytes_max = 10485760;
  std::string version = "1.13";  ///< of beanstalkd: clients parse it, so nothing is added
  std::string instance_id;       ///< 16 hexadecimal digits, random for each process
  std::string hostname;          ///< uname: nodename
  std::string os;                ///< uname: version
  std::string platform;          ///< uname: machine
  std::int64_t pid = 0;
  access::SharedUsers users = {};       ///< null: there are none
  std::function<ProcessUsage()> usage;  ///< may be empty: zeros are shown
  std::function<Binlog()> binlog;       ///< empty: no journal is kept, and zeros are shown
};

}  // namespace millrace::beanstalk
