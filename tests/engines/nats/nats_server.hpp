#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace millrace::engines {

/// A nats-server of the test's own, with JetStream. It ends with the test, however that ends.
class NatsServer {
 public:
  struct Options {
    std::string name = "n";
    int port = 0;
    std::string config;  ///< more lines of its configuration
  };

  /// Keeps its files in that directory.
  NatsServer(std::filesystem::path directory, Options options);
  ~NatsServer();
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;

  void start();
  /// As `kill -9` does.
  void kill();
  void pause();
  void resume();

  [[nodiscard]] int port() const { return options_.port; }
  [[nodiscard]] const std::string& name() const { return options_.name; }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port()); }

 private:
  std::filesystem::path directory_;
  Options options_;
  pid_t pid_ = 0;
};

/// A directory that is removed at the end.
class NatsDirectory {
 public:
  NatsDirectory();
  ~NatsDirectory();
  NatsDirectory(const NatsDirectory&) = delete;
  NatsDirectory& operator=(const NatsDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Not in use, and not one that the system gives to clients.
[[nodiscard]] int free_nats_port();

/// Whether the program is there: MILLRACE_NATS_SERVER, or nats-server of Debian.
[[nodiscard]] std::string nats_server_program();

/// Several that form one cluster.
class NatsCluster {
 public:
  explicit NatsCluster(int size, const std::string& config = "");
  [[nodiscard]] NatsServer& operator[](std::size_t index) { return *servers_[index]; }
  [[nodiscard]] NatsServer& named(const std::string& name);
  [[nodiscard]] NatsServer& other_than(const std::vector<std::string>& names);
  /// `a:1,b:2`
  [[nodiscard]] std::string addresses() const;

 private:
  NatsDirectory directory_;
  std::vector<std::unique_ptr<NatsServer>> servers_;
};

}  // namespace millrace::engines
