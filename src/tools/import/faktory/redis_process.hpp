#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.hpp"

/// How a `redis-server` is found, started and ended, and what it says.
namespace millrace::tools {

/// The path of the program; a problem says which package has it. `search_path`: as PATH.
[[nodiscard]] Outcome<std::string> find_redis_server(const std::string& search_path);

/// Starts it on the snapshot `folder/kSnapshotCopy`. It listens on `folder/kSnapshotSocket`, and
/// writes its messages to `folder/kSnapshotLog`. It ends with this process, however that ends.
[[nodiscard]] Outcome<pid_t> start_redis_server(const std::string& program,
                                                const std::string& folder);
inline constexpr const char* kSnapshotCopy = "faktory.rdb";
inline constexpr const char* kSnapshotSocket = "redis.sock";
inline constexpr const char* kSnapshotLog = "redis.log";

/// Waits a moment. True: the process has ended meanwhile, and is gone.
[[nodiscard]] bool ends_within_moment(pid_t process);

/// Ends a process that has nothing to save.
void end_redis_server(pid_t process);

/// The process that listens on a unix socket; 0: none does.
[[nodiscard]] pid_t listener_of(const std::string& socket_path);

/// Why Redis did not load a snapshot, from what it wrote: one line, with the place in the file
/// where it says one.
[[nodiscard]] std::string load_failure_of(const std::string& log);

}  // namespace millrace::tools
