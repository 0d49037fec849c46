#pragma once

#include <csignal>
#include <functional>
#include <future>
#include <optional>
#include <vector>

#include "server/options/config.hpp"
#include "server/options/config_file.hpp"
#include "server/process/logging.hpp"
#include "server/serve.hpp"
#include "server/server.hpp"
#include "server/system/service_manager.hpp"
#include "server/system/signals.hpp"

namespace millrace::server {

/// Reads the files that `config` names. Certificates and keys are of this kind.
[[nodiscard]] Outcome<Server::Secrets> read_secrets(const Config& config, const Log& log,
                                                    ConfigFile kind);

/// Tells the log of the keys of config files that have no effect.
void log_ignored_keys(const Config& config, const Log& log);

/// The arguments of `serve`, for all of its steps. All outlive the server.
struct ServeContext {
  const Config& config;
  const Starter& starter;
  const Log& log;
  ServiceManager& manager;
  std::function<void()> on_stop = [] {};  ///< called when a signal ends the server
};

/// Does what signals ask for, in the main loop's thread. Only what SIGHUP reads is read in a thread
/// of its own: config files may be long.
class SignalDuties {
 public:
  /// All outlive it. The server is not run any more when it has gone.
  SignalDuties(Server& server, const ServeContext& context, Signals& signals);

  /// The signals that it knows: those that may wait for it while the server starts, and those that
  /// end a server.
  [[nodiscard]] static std::vector<int> waiting_numbers(const Config& config);
  [[nodiscard]] static std::vector<int> ending_numbers() { return {SIGTERM, SIGINT}; }

  void heed(int signal);

  /// The signal that ended the server; nullopt: none did.
  [[nodiscard]] std::optional<int> last() const { return last_; }

  /// Whether beanstalk clients can put no new jobs since.
  [[nodiscard]] bool is_draining() const { return is_draining_; }

  /// Whether SIGHUP has come and changed nothing yet.
  [[nodiscard]] bool is_reloading() const { return reading_.valid(); }

 private:
  /// All that SIGHUP reads. A problem in any part of it changes nothing.
  struct Reread {
    Config config;
    Server::Secrets secrets;
  };

  [[nodiscard]] static Outcome<Reread> read_again(const ServeContext& context);
  void begin_reload();
  void finish_reload();
  void apply(Reread wanted);
  void free(SharedCronTable table);

  Server& server_;
  const ServeContext& context_;
  std::optional<int> last_;
  bool is_draining_ = false;
  std::future<Outcome<Reread>> reading_;  ///< valid while it reads
  std::future<void> freeing_;             ///< of what was reloaded before
  bool must_reload_again_ = false;        ///< SIGHUP has come since it began to read
  const SignalWatch watch_;
};

}  // namespace millrace::server
