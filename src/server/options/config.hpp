#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "base/result.hpp"
#include "core/broker/features/push_once.hpp"
#include "core/model/features/throttle_limits.hpp"
#include "core/model/types.hpp"
#include "core/state/features/finished_jobs.hpp"
#include "server/cron/cron_item.hpp"
#include "server/net/address.hpp"
#include "server/options/tables/alert_options.hpp"
#include "server/options/tables/retry_options.hpp"
#include "server/options/tables/statsd_options.hpp"
#include "server/process/logging.hpp"
#include "server/system/handover.hpp"

namespace millrace::server {

/// How the process behaves under the name by which it was started: `millrace`, `faktory` or
/// `beanstalkd`. No option changes this.
struct Personality {
  enum class Announcement {
    kPorts,       ///< a line for each port, and then `ready`
    kBeanstalkd,  ///< like `beanstalkd -V`: process id, sockets, connections opened and closed
    kNone,        ///< nothing; a normal run writes nothing to stderr either
  };
  Announcement announcement = Announcement::kPorts;
  bool reloads = true;            ///< SIGHUP reloads the configuration; false: it ends the process
  bool waits_for_clients = true;  ///< at a stop; false: connections are closed at once
  bool makes_directory = true;    ///< create a missing data directory; false: refuse to start
  /// False: a web port without a password takes any Host, unless it listens on loopback only.
  bool checks_host_for_others = true;
  const char* web_hosts_option = "--web-host";  ///< what sets `Config::web_hosts`, for people
};

/// How far a change must have got in the journal before its reply is sent.
struct SyncChoice {
  enum class Mode {
    kAlways,    ///< on stable storage
    kInterval,  ///< written; on stable storage after `interval` at most
    kOff,       ///< written; the system decides when it reaches stable storage
  };
  Mode mode = Mode::kAlways;
  std::chrono::milliseconds interval{0};

  bool operator==(const SyncChoice&) const = default;
};

/// The bounds of `Config::lease`, in ms. A shorter lease would end when a machine is only busy.
inline constexpr std::uint64_t kLeaseMinMs = 200;
inline constexpr std::uint64_t kLeaseMaxMs = 60'000;

/// The most of `Config::io_threads`.
inline constexpr std::size_t kIoThreadsMax = 8;

/// Ports that other machines may reach without a password.
struct OpenPorts {
  bool beanstalk = false;
  bool faktory = false;
  bool web = false;

  bool operator==(const OpenPorts&) const = default;
};

/// The longest `Config::node`.
inline constexpr std::size_t kNodeBytesMax = 64;

/// The longest `SyncChoice::interval`, in ms.
inline constexpr std::uint64_t kSyncIntervalMaxMs = 3'600'000;

/// A key of a config file, or a table.
struct IgnoredKey {
  std::string key;
  std::string place;  ///< `FILE:LINE`
};

/// How the web UI calls the server.
struct ServerName {
  std::string text;  ///< empty: it has none
  std::string color = "blue";
  bool operator==(const ServerName&) const = default;
};

/// The options of a server. A member is one row of `kOptionRows`, or of `table_rows`.
struct Config {
  std::string data = "./millrace-data";
  std::optional<Address> beanstalk = Address{.host = "127.0.0.1", .port = 11300};
  std::optional<Address> faktory = Address{.host = "127.0.0.1", .port = 7419};
  std::optional<Address> web = Address{.host = "127.0.0.1", .port = 7420};
  bool is_web_read_only = false;       ///< the web port refuses every change
  std::vector<std::string> web_hosts;  ///< extra Host names without a password, in lower case
  ServerName name;
  std::string web_password;          ///< empty: the same as `password`; set by faktory_options
  std::string password_file;         ///< empty: none; wins over `password`
  std::string users_file;            ///< empty: none; takes the place of the password
  std::string password;              ///< the value of FAKTORY_PASSWORD
  std::string tls_certificate_file;  ///< empty: ports are not encrypted
  std::string tls_key_file;          ///< set exactly when there is a certificate
  std::string
      node_ca_file;  ///< what certificates of other nodes are checked with; empty: the system's
  std::string description = "Faktory";    ///< what INFO says that the server is
  std::uint64_t connections_max = 0;      ///< of Faktory clients; 0: no limit
  std::optional<std::size_t> io_threads;  ///< of client sockets; nullopt: by the cores
  std::size_t dead_jobs_max = 1'000'000;
  PushRules pushes;
  FinishedJobs::Limits finished;  ///< without `is_durable`
  bool is_finished_durable = false;
  std::optional<Duration> worker_timeout = 60s;  ///< see `WorkerRules`
  std::uint32_t poison_after = 3;
  bool extends_while_alive = false;
  SyncChoice sync;
  bool is_fetch_strict = false;      ///< a handed-out job waits for its reservation to be durable
  bool has_asked_for_syncs = false;  ///< `sync` is `always` because somebody said so
  bool is_volatile = false;
  std::string log;   ///< URL of the log that several servers share; empty: the data directory
  std::string node;  ///< the name of this server among them
  std::chrono::milliseconds lease{1000};
  std::string advertise;  ///< the host by which other nodes reach this one; empty: found out
  bool keeps_ports_closed = false;  ///< while another server leads, instead of relaying
  bool allows_unsynced_log = false;
  std::string log_password_file;
  std::string log_credentials_file;
  std::string log_ca_file;
  std::string log_certificate_file;
  std::string log_key_file;
  std::uint64_t memory_bytes_max = 0;                     ///< for jobs; 0: no limit
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;  ///< size of a journal file
  std::size_t job_bytes_max = kPutBytesMaxDefault;
  OpenPorts insecure;
  LogFormat log_format = LogFormat::kText;
  std::string audit_log;                ///< file for changes of people; empty: none
  std::string user;                     ///< to switch to once the ports are open; empty: no switch
  std::optional<unsigned> socket_mode;  ///< of unix sockets; nullopt: what the umask leaves
  Handover handover;                    ///< sockets that systemd has opened

  bool moves_again = false;  ///< of `move-to-file` only

  std::vector<ThrottleRule> throttles;                         ///< of the config files
  std::vector<RetryRule> retries;                              ///< the same
  std::vector<AlertOptions> alerts;                            ///< the same, without secrets
  SharedCronTable cron = std::make_shared<const CronTable>();  ///< of the config files

  std::optional<StatsdOptions> statsd;  ///< of the config files, or of DD_DOGSTATSD_URL

  /// Keys and tables of the config files that have no effect. Only the log tells of them.
  std::vector<IgnoredKey> ignored_keys;

  // Not in the table: these follow from the name under which the program was started.
  Personality personality;
  /// Size of a journal file as shown in `stats`; nullopt: the real size.
  std::optional<std::uint64_t> binlog_bytes_max;
};

/// True when Faktory clients and browsers need a password.
[[nodiscard]] bool has_password(const Config& config);

/// What SIGHUP does: takes from `wanted` what may change while the server runs. The names of the
/// options for whose change it needs a restart.
[[nodiscard]] std::vector<std::string> reload(Config& running, const Config& wanted);

/// Options as name and value, for the Server page of the web UI and the API. No secrets.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> shown_options(const Config& config);

/// The value of an environment variable; nullopt when it is not set.
[[nodiscard]] std::optional<std::string> environment_variable(const char* name);

/// The variables of systemd: LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES, NOTIFY_SOCKET, WATCHDOG_USEC
/// and WATCHDOG_PID.
[[nodiscard]] Handover read_handover();

/// How many `io_threads` there are on a machine with so many cores: with few, none.
[[nodiscard]] inline std::size_t io_threads_on(std::size_t cores, const Config& config) {
  return config.io_threads.value_or(cores <= 3 ? 0 : std::min(cores / 4, kIoThreadsMax));
}

/// Refuses options that contradict each other, wherever each came from. Each alone is valid.
[[nodiscard]] Outcome<Done> check_together(const Config& config);

/// The same for those about the engine of a shared log.
[[nodiscard]] Outcome<Done> check_engine(const Config& config);

}  // namespace millrace::server
