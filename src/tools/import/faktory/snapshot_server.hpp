#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.hpp"
#include "tools/import/faktory/redis.hpp"

namespace millrace::tools {

/// A `redis-server` of our own that has loaded a copy of a snapshot. It listens on a unix socket
/// only, saves nothing, and ends with this, or with the process. Once it is there, nothing of the
/// copy is left on the disk.
class SnapshotServer {
 public:
  struct Options {
    std::string snapshot;          ///< is not changed
    std::string search_path;       ///< the directories that may have `redis-server`, as PATH
    std::string temporary_folder;  ///< in which the copy is made
  };

  /// Waits until all of the snapshot was loaded. While it does, the signals that end a process
  /// wait: then the copy is removed first. A problem: the file is no whole snapshot, a Redis works
  /// on its directory, or there is no `redis-server`.
  [[nodiscard]] static Outcome<SnapshotServer> start(const Options& options);

  SnapshotServer(SnapshotServer&& other) noexcept;
  SnapshotServer& operator=(SnapshotServer&&) = delete;
  ~SnapshotServer();

  [[nodiscard]] Redis& redis() { return *redis_; }

 private:
  explicit SnapshotServer(pid_t process) : process_(process) {}

  pid_t process_;  ///< 0: none
  std::optional<Redis> redis_;
};

/// The path of the program; a problem says which package has it. `search_path`: as PATH.
[[nodiscard]] Outcome<std::string> find_redis_server(const std::string& search_path);

/// Why Redis did not load a snapshot, from what it wrote: one line, with the place in the file
/// where it says one.
[[nodiscard]] std::string load_failure_of(const std::string& log);

}  // namespace millrace::tools
