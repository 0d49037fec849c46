#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.hpp"
#include "client/target.hpp"

namespace millrace::tools {

/// A server of this program that runs as a child, with nothing of our environment. It ends with
/// this object, and when this process is killed.
class LocalServer {
 public:
  /// Returns when it is ready. `flags`: those of `serve`. `log_file`: where its log goes; empty: to
  /// our stderr. Call it in the main thread.
  [[nodiscard]] static Outcome<LocalServer> start(const std::vector<std::string>& flags,
                                                  const std::string& log_file = {});
  ~LocalServer() { end(); }
  LocalServer(LocalServer&& other) noexcept;
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  /// `beanstalk`, `faktory` or `web`: where it has opened that port.
  [[nodiscard]] client::Target port(std::string_view name) const;

  /// False: it has ended by itself.
  [[nodiscard]] bool is_running();
  /// Asks it to end, and waits for that.
  void end();

 private:
  struct Port {
    std::string name;
    client::Target target;
  };
  explicit LocalServer(pid_t process) : process_(process) {}
  [[nodiscard]] Outcome<Done> read_ports(int from);

  pid_t process_;  ///< 0: it has ended
  std::vector<Port> ports_;
};

}  // namespace millrace::tools
