#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "core/model/types.hpp"
#include "server/net/address.hpp"
#include "server/net/handover.hpp"
#include "server/options/personality.hpp"

namespace millrace::server {

/// How far the journal goes before a reply leaves.
struct SyncChoice {
  enum class Mode {
    kAlways,    ///< on stable storage
    kInterval,  ///< written; stable storage follows every `interval`
    kOff,       ///< written; the system decides when it becomes stable
  };
  Mode mode = Mode::kAlways;
  std::chrono::milliseconds interval{0};

  bool operator==(const SyncChoice&) const = default;
};

/// The longest `SyncChoice::interval`, in ms.
inline constexpr std::uint64_t kSyncIntervalMaxMs = 3'600'000;

/// What the operator asked for. Each member is one row of the option table in config.cpp.
struct Config {
  std::string data = "./millrace-data";
  std::optional<Address> beanstalk = Address{.host = "127.0.0.1", .port = 11300};
  std::optional<Address> faktory = Address{.host = "127.0.0.1", .port = 7419};
  std::optional<Address> web = Address{.host = "127.0.0.1", .port = 7420};
  bool is_web_read_only = false;       ///< the web door changes nothing
  std::vector<std::string> web_hosts;  ///< further names that it goes by, in lower case
  std::string web_password;            ///< empty: the Faktory door's; set by server/faktory_options
  std::string password_file;           ///< empty: none
  std::string password;  ///< given as such, in FAKTORY_PASSWORD; `password_file` goes first
  std::string tls_certificate_file;   ///< empty: ports are not encrypted
  std::string tls_key_file;           ///< set exactly when there is a certificate
  std::uint64_t connections_max = 0;  ///< of the Faktory door; 0: any number
  std::size_t dead_jobs_max = 1'000'000;
  SyncChoice sync;
  bool is_volatile = false;
  std::uint64_t memory_bytes_max = 0;                     ///< for jobs; 0: no limit
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;  ///< of the journal
  std::size_t job_bytes_max = kPutBytesMaxDefault;
  bool is_insecure = false;  ///< open ports without a password beyond this machine are fine
  std::string user;          ///< whose rights to keep once the ports are open; empty: all
  Handover handover;         ///< the ports that are open already

  // Not in the table: it follows from the name that the program was called by.
  Personality personality;
  /// Shown in `stats` as the size of the journal's files; nullopt: what it is.
  std::optional<std::uint64_t> binlog_bytes_max;
};

/// What the command line says is to be done.
struct Invocation {
  enum class Action {
    kServe,   ///< with `config`
    kCheck,   ///< the journal in the directory `text`; with `target`, salvage it to there
    kBackUp,  ///< the journal in the directory `text` to `target`
    kPrint,   ///< `text` to stdout, and it is done (help, version)
    kRefuse,  ///< `text` to stderr, one line: what was asked for makes no sense
  };
  Action action = Action::kRefuse;
  Config config;
  std::string text;
  std::string target = {};
  /// With kServe: variables that begin like those of options, and are none. They change nothing.
  std::vector<std::string> unknown_variables = {};
};

/// The names of the options in which `wanted` differs from what the server was started with and
/// that count at a start only.
[[nodiscard]] std::vector<std::string> options_for_restart(const Config& started,
                                                           const Config& wanted);

/// Reads the arguments (without the program's name), the environment and the config file, in this
/// order of precedence. The environment holds `MILLRACE_<FLAG>` for each flag and FAKTORY_PASSWORD.
[[nodiscard]] Invocation read_invocation(const std::vector<std::string>& arguments);

/// A variable of the environment; nullopt when it is not set.
[[nodiscard]] std::optional<std::string> environment_variable(const char* name);

/// What systemd's socket activation says in the environment: LISTEN_PID, LISTEN_FDS and
/// LISTEN_FDNAMES.
[[nodiscard]] Handover read_handover();

}  // namespace millrace::server
