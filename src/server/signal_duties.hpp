#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/net/signals.hpp"
#include "server/options/config.hpp"
#include "server/process/logging.hpp"
#include "server/serve.hpp"
#include "server/server.hpp"

namespace millrace::server {

/// The files that SIGHUP reads again.
struct Secrets {
  std::string password;
  /// Shared with the options of the server; null: none.
  std::shared_ptr<const TlsContext> tls;
};

[[nodiscard]] Outcome<Secrets> read_secrets(const Config& config, const Log& log);

/// Those that follow from the configuration alone.
[[nodiscard]] Server::Options server_options(const Config& config, const Secrets& secrets);

/// The arguments of `serve`, for all of its steps. All outlive the server.
struct ServeContext {
  const Config& config;
  const ReadConfig& read_config;
  const Log& log;
  Config& in_force;                       ///< with what was reloaded
  std::function<void()> on_stop = [] {};  ///< called when a signal ends the server
};

/// Does what signals ask for, in the main loop's thread.
class SignalDuties {
 public:
  /// All outlive it.
  SignalDuties(Server& server, const ServeContext& context, Signals& signals);

  /// The signals that it knows.
  [[nodiscard]] static std::vector<int> numbers(const Config& config);

  void heed(int signal);

  /// The signal that ended the server; nullopt: none did.
  [[nodiscard]] std::optional<int> last() const { return last_; }

  /// Whether beanstalk clients can put no new jobs since.
  [[nodiscard]] bool is_draining() const { return is_draining_; }

 private:
  Outcome<Done> reload();

  Server& server_;
  const ServeContext& context_;
  std::optional<int> last_;
  bool is_draining_ = false;
  const SignalWatch watch_;
};

}  // namespace millrace::server
