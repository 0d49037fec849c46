#pragma once

#include <thread>
#include <vector>

#include "client/target.hpp"

namespace millrace::tools {

/// Clients and workers of a small shop, in both protocols: jobs arrive in waves, run, fail, are
/// retried, die, and are scheduled. Each is a thread with a connection of its own.
class Demo {
 public:
  struct Ports {
    client::Target beanstalk;
    client::Target faktory;
  };
  /// Jobs of this queue have no worker: somebody should pause it.
  static constexpr const char* kPausedQueue = "newsletter";

  explicit Demo(Ports ports);
  /// A thread that waits for jobs ends when its server does, or within two seconds.
  ~Demo();
  Demo(const Demo&) = delete;
  Demo& operator=(const Demo&) = delete;

 private:
  Ports ports_;
  std::vector<std::jthread> threads_;
};

}  // namespace millrace::tools
