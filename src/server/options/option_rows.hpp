#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/value_hint.hpp"
#include "engines/log_url.hpp"
#include "server/options/config.hpp"
#include "server/options/option_traits.hpp"
#include "server/options/option_values.hpp"

/// The table of options: flags, help, config file, environment, what SIGHUP does, and what the
/// Server page of the web UI shows come from it.
namespace millrace::server {

/// How `faktory` has an option; null: not so.
struct FaktoryNames {
  const char* flag = nullptr;      ///< without dashes
  const char* variable = nullptr;  ///< of the environment
  const char* key = nullptr;       ///< of the files in conf.d
  bool has_own_rules = false;      ///< as in Faktory; else the value is read as by `serve`
};

/// How an option is given where the program is called beanstalkd or faktory. No row can leave it
/// out.
struct OtherNames {
  constexpr OtherNames(const char* of_beanstalkd, FaktoryNames of_faktory)
      : beanstalkd(of_beanstalkd), faktory(of_faktory) {}

  const char* beanstalkd;  ///< the letters of its flags
  FaktoryNames faktory;
};

inline constexpr OtherNames kNoOther("", {});

/// One option of `serve`. The flag is `--name`, the key of the config file is `name`, and the
/// environment variable is MILLRACE_NAME, with `_` for `-`.
struct OptionRow {
  const char* name;
  const char* value;  ///< placeholder for the value in the help; null: a switch
  const char* help;
  Outcome<Done> (*apply)(Config&, const std::string&);
  Reload reload;
  Shown shown;
  OtherNames others;
  cli::ValueHint hint = {};
};

inline constexpr std::array<std::string_view, 1> kOffWord = {"off"};
inline constexpr std::array<std::string_view, 1> kAutoWord = {"auto"};
inline constexpr std::array<std::string_view, 2> kOnOffWords = {"on", "off"};
inline constexpr std::array<std::string_view, 2> kLogFormatWords = {"text", "json"};
inline constexpr std::array<std::string_view, 3> kSyncWords = {"always", "interval:1000", "off"};

template <auto member, auto set>
Outcome<Done> sets(Config& config, const std::string& text) {
  return set(config.*member, text);
}

template <auto member>
std::string shows(const Config& config) {
  return shown_text(config.*member);
}

template <auto member>
std::string shows_limit(const Config& config) {
  return config.*member == 0 ? "no limit" : shown_text(config.*member);
}

/// Never removes the password: the ports are open, and other machines may reach them.
inline bool exchanges_password(Config& running, const Config& wanted) {
  if (has_password(wanted) || !wanted.web_password.empty()) {
    running.web_password = wanted.web_password;
  }
  if (!has_password(wanted)) return !has_password(running);
  running.password = wanted.password;
  running.password_file = wanted.password_file;
  return true;
}

/// Only a restart brings users or takes them away.
inline bool exchanges_users(Config& running, const Config& wanted) {
  if (running.users_file.empty() != wanted.users_file.empty()) return false;
  running.users_file = wanted.users_file;
  return true;
}

/// Only a restart switches encryption on or off.
inline bool exchanges_certificate(Config& running, const Config& wanted) {
  if (running.tls_certificate_file.empty() != wanted.tls_certificate_file.empty()) return false;
  running.tls_certificate_file = wanted.tls_certificate_file;
  running.tls_key_file = wanted.tls_key_file;
  return true;
}

inline bool is_taken_with_certificate(Config&, const Config&) {
  return true;
}

inline constexpr const char* kNoJournal = "none (--volatile)";

inline constexpr std::array kOptionRows = {
    OptionRow{
        "data", "DIR", "Data directory (default: ./millrace-data)", sets<&Config::data, set_text>,
        needs_restart<&Config::data>,
        Shown(Section::kData,
              [](const Config& c) { return c.is_volatile ? kNoJournal : shown_text(c.data); }),
        OtherNames("b", {.flag = "d", .has_own_rules = true})},
    OptionRow{"beanstalk", "ADDR|off", "Address for beanstalk clients (default: 127.0.0.1:11300)",
              sets<&Config::beanstalk, set_address>, needs_restart<&Config::beanstalk>,
              Shown(Section::kPorts, shows<&Config::beanstalk>), OtherNames("lp", {}),
              cli::ValueHint{.words = kOffWord}},
    OptionRow{"faktory", "ADDR|off",
              "Address for Faktory clients and workers (default: 127.0.0.1:7419)",
              sets<&Config::faktory, set_address>, needs_restart<&Config::faktory>,
              Shown(Section::kPorts, shows<&Config::faktory>),
              OtherNames("", {.flag = "b", .key = "faktory.binding", .has_own_rules = true}),
              cli::ValueHint{.words = kOffWord}},
    OptionRow{"web", "ADDR|off",
              "Address for the web UI, the JSON API and metrics (default: 127.0.0.1:7420)",
              sets<&Config::web, set_address>, needs_restart<&Config::web>,
              Shown(Section::kPorts, shows<&Config::web>),
              OtherNames("", {.flag = "w", .key = "web.binding", .has_own_rules = true}),
              cli::ValueHint{.words = kOffWord}},
    OptionRow{"web-read-only", nullptr, "Refuse every change through the web UI and the API",
              sets<&Config::is_web_read_only, set_switch>, needs_restart<&Config::is_web_read_only>,
              Shown(Section::kWeb, shows<&Config::is_web_read_only>), kNoOther},
    OptionRow{"web-host", "NAMES",
              "Additional Host names to accept when no password is set, comma-separated",
              sets<&Config::web_hosts, set_names>, needs_restart<&Config::web_hosts>,
              Shown(Section::kWeb, shows<&Config::web_hosts>),
              OtherNames("", {.variable = "MILLRACE_WEB_HOST", .key = "web.hosts"})},
    OptionRow{"name", "NAME[:COLOR]", "Name of this server in the web UI, and the color of its bar",
              sets<&Config::name, set_server_name>, needs_restart<&Config::name>,
              Shown(Section::kWeb, shows<&Config::name>), kNoOther},
    OptionRow{
        "password-file", "FILE", "File with the password for Faktory clients and browsers",
        sets<&Config::password_file, set_text>, exchanges_password,
        Shown(
            Section::kAccess,
            [](const Config& c) { return std::string(has_password(c) ? "required" : "none"); },
            "password"),
        OtherNames(
            "",
            {.variable = "FAKTORY_PASSWORD", .key = "faktory.password", .has_own_rules = true})},
    OptionRow{"users", "FILE", "File with users and their rights; replaces the single password",
              sets<&Config::users_file, set_text>, exchanges_users,
              Shown(Section::kAccess, shows<&Config::users_file>), kNoOther},
    OptionRow{
        "tls-cert", "FILE",
        "TLS certificate chain (PEM); all ports except unix: then speak TLS only",
        sets<&Config::tls_certificate_file, set_text>, exchanges_certificate,
        Shown(
            Section::kAccess,
            [](const Config& c) { return shown_text(!c.tls_certificate_file.empty()); }, "tls"),
        kNoOther},
    OptionRow{"tls-key", "FILE", "Private key of the certificate (PEM)",
              sets<&Config::tls_key_file, set_text>, is_taken_with_certificate,
              not_shown("the certificate says that there is TLS"), kNoOther},
    OptionRow{"max-connections", "N",
              "Maximum number of Faktory connections; 0: no limit (default: 0)",
              sets<&Config::connections_max, set_count>, takes_reload<&Config::connections_max>,
              Shown(Section::kJobs, shows_limit<&Config::connections_max>), kNoOther},
    OptionRow{"description", "TEXT",
              "Server description in INFO; some applications expect Faktory Enterprise (default: "
              "Faktory)",
              sets<&Config::description, set_description>, takes_reload<&Config::description>,
              Shown(Section::kJobs, shows<&Config::description>),
              OtherNames("", {.key = "faktory.description"})},
    OptionRow{
        "dead-max-jobs", "N",
        "Maximum number of dead pushed jobs; beyond it the oldest is deleted (default: 1000000)",
        sets<&Config::dead_jobs_max, set_count>, needs_restart<&Config::dead_jobs_max>,
        Shown(Section::kJobs, shows<&Config::dead_jobs_max>), kNoOther},
    OptionRow{"push-once", "MODE",
              "Ignore a repeated push while its job exists (on), also for SECONDS after it ends, "
              "or never (off) (default: on)",
              sets<&Config::pushes, set_pushes>, needs_restart<&Config::pushes>,
              Shown(Section::kJobs, shows<&Config::pushes>), kNoOther,
              cli::ValueHint{.words = kOnOffWords}},
    OptionRow{
        "keep-finished", "N[,AGE]",
        "How many finished jobs to remember, 0 to 100000, and for how long (default: 10000,24h)",
        sets<&Config::finished, set_finished>, needs_restart<&Config::finished>,
        Shown(Section::kJobs, shows<&Config::finished>), kNoOther},
    OptionRow{"keep-finished-durable", nullptr,
              "Store finished jobs in the journal, so they survive restarts",
              sets<&Config::is_finished_durable, set_switch>,
              needs_restart<&Config::is_finished_durable>,
              Shown(Section::kJobs, shows<&Config::is_finished_durable>), kNoOther},
    OptionRow{
        "worker-timeout", "TIME",
        "Requeue jobs of a lost worker after this time, such as 90s or 5m, or off (default: 60s)",
        sets<&Config::worker_timeout, set_timeout>, needs_restart<&Config::worker_timeout>,
        Shown(Section::kJobs, shows<&Config::worker_timeout>),
        OtherNames("", {.flag = "worker-timeout",
                        .variable = "MILLRACE_WORKER_TIMEOUT",
                        .key = "faktory.worker_timeout"}),
        cli::ValueHint{.words = kOffWord}},
    OptionRow{
        "poison-after", "N",
        "Move a job to dead after it loses N workers in a row, at most 10; 0: never (default: 3)",
        sets<&Config::poison_after, set_poison_after>, needs_restart<&Config::poison_after>,
        Shown(Section::kJobs, shows<&Config::poison_after>), kNoOther},
    OptionRow{"extend-while-alive", nullptr,
              "Keep extending reservations of connected workers that send BEAT",
              sets<&Config::extends_while_alive, set_switch>,
              needs_restart<&Config::extends_while_alive>,
              Shown(Section::kJobs, shows<&Config::extends_while_alive>), kNoOther},
    OptionRow{"sync", "MODE",
              "When to reply: always (change is on disk), interval:MS (written; synced every MS "
              "milliseconds) or off (written) (default: always)",
              [](Config& c, const std::string& text) {
                const auto set = set_sync(c.sync, text);
                c.has_asked_for_syncs = c.sync.mode == SyncChoice::Mode::kAlways;
                return set;
              },
              needs_restart<&Config::sync>,
              Shown(Section::kSync,
                    [](const Config& c) {
                      if (!c.log.empty()) return std::string("by the log");
                      return c.is_volatile ? kNoJournal : shown_text(c.sync);
                    }),
              OtherNames("fF", {}), cli::ValueHint{.words = kSyncWords}},
    OptionRow{
        "strict-fetch", nullptr,
        "Hand out a job only once its reservation is on disk (with --sync always)",
        sets<&Config::is_fetch_strict, set_switch>, needs_restart<&Config::is_fetch_strict>,
        Shown(Section::kSync,
              [](const Config& c) { return shown_text(c.is_fetch_strict || !c.log.empty()); }),
        kNoOther},
    OptionRow{"volatile", nullptr,
              "Keep no journal; --data has no effect, and a restart loses all jobs",
              sets<&Config::is_volatile, set_switch>, needs_restart<&Config::is_volatile>,
              not_shown("data and sync say it"), kNoOther},
    OptionRow{
        "log", "URL",
        "Log shared with other servers, one of which leads: nats://HOSTS/STREAM or "
        "postgresql://...",
        sets<&Config::log, set_log>, needs_restart<&Config::log>,
        Shown(Section::kLog,
              [](const Config& c) { return c.log.empty() ? "none" : engines::shown_url(c.log); }),
        kNoOther},
    OptionRow{"node", "NAME", "With --log: unique name of this server",
              sets<&Config::node, set_node>, needs_restart<&Config::node>,
              Shown(Section::kLog, shows<&Config::node>), kNoOther},
    OptionRow{"lease", "MS",
              "With --log: how long other servers wait before replacing an unresponsive leader "
              "(default: 1000)",
              sets<&Config::lease, set_lease>, needs_restart<&Config::lease>,
              Shown(Section::kLog,
                    [](const Config& c) {
                      return c.log.empty() ? "none" : std::to_string(c.lease.count());
                    }),
              kNoOther},
    OptionRow{"advertise", "HOST",
              "With --log: host at which other servers reach this one (default: that of its ports)",
              sets<&Config::advertise, set_text>, needs_restart<&Config::advertise>,
              not_shown("the page of the nodes has their ports"), kNoOther},
    OptionRow{"ca", "FILE",
              "With --log and TLS: CA certificates for checking the leader's web port (PEM; "
              "default: the system's)",
              sets<&Config::node_ca_file, set_text>, takes_reload<&Config::node_ca_file>,
              not_shown("a path of this machine"), kNoOther},
    OptionRow{
        "no-relay", nullptr,
        "With --log: keep the ports closed while another server leads, instead of relaying",
        sets<&Config::keeps_ports_closed, set_switch>, needs_restart<&Config::keeps_ports_closed>,
        Shown(
            Section::kLog,
            [](const Config& c) { return shown_text(!c.log.empty() && !c.keeps_ports_closed); },
            "relay"),
        kNoOther},
    OptionRow{"allow-unsynced-log", nullptr,
              "With --log: use an engine that may lose acknowledged jobs in a power cut",
              sets<&Config::allows_unsynced_log, set_switch>,
              needs_restart<&Config::allows_unsynced_log>,
              not_shown("about the engine, not the server"), kNoOther},
    OptionRow{"log-password-file", "FILE", "File with the password for the engine of --log",
              sets<&Config::log_password_file, set_text>, needs_restart<&Config::log_password_file>,
              not_shown("the path of a secret"), kNoOther},
    OptionRow{"log-credentials", "FILE", "Credentials file for NATS",
              sets<&Config::log_credentials_file, set_text>,
              needs_restart<&Config::log_credentials_file>, not_shown("the path of a secret"),
              kNoOther},
    OptionRow{"log-ca", "FILE", "CA certificates for checking the engine's certificate (PEM)",
              sets<&Config::log_ca_file, set_text>, needs_restart<&Config::log_ca_file>,
              not_shown("a path of this machine"), kNoOther},
    OptionRow{"log-cert", "FILE", "Client certificate for the engine (PEM)",
              sets<&Config::log_certificate_file, set_text>,
              needs_restart<&Config::log_certificate_file>, not_shown("a path of this machine"),
              kNoOther},
    OptionRow{"log-key", "FILE", "Private key of the client certificate (PEM)",
              sets<&Config::log_key_file, set_text>, needs_restart<&Config::log_key_file>,
              not_shown("the path of a secret"), kNoOther},
    OptionRow{
        "memory-limit", "BYTES",
        "Memory limit for jobs, 65536 or more; beyond it, bodies stay on disk (default: 0, none)",
        sets<&Config::memory_bytes_max, set_memory>, needs_restart<&Config::memory_bytes_max>,
        Shown(Section::kSizes, shows_limit<&Config::memory_bytes_max>), kNoOther},
    OptionRow{"segment-bytes", "BYTES",
              "Size of a journal file, 1 MiB to 1 GiB (default: 67108864)",
              sets<&Config::segment_bytes, set_segment_size>, needs_restart<&Config::segment_bytes>,
              Shown(Section::kSizes, shows<&Config::segment_bytes>), OtherNames("s", {})},
    OptionRow{"max-job-size", "BYTES",
              "Longest body of a beanstalk put, up to 1 GiB (default: 65535)",
              sets<&Config::job_bytes_max, set_size>, takes_reload<&Config::job_bytes_max>,
              Shown(Section::kSizes, shows<&Config::job_bytes_max>), OtherNames("z", {})},
    OptionRow{"user", "USER", "When started as root: switch to this user once the ports are open",
              sets<&Config::user, set_text>, needs_restart<&Config::user>,
              Shown(Section::kProcess, shows<&Config::user>), OtherNames("u", {})},
    OptionRow{"socket-mode", "MODE",
              "Mode of unix: sockets, such as 660 (default: 777 reduced by the umask)",
              sets<&Config::socket_mode, set_mode>, needs_restart<&Config::socket_mode>,
              Shown(Section::kProcess, shows<&Config::socket_mode>), kNoOther},
    OptionRow{"io-threads", "N",
              "Extra threads for client sockets, 0 to 8; auto: a quarter of the cores, none with "
              "up to 3 (default: auto)",
              sets<&Config::io_threads, set_io_threads>, needs_restart<&Config::io_threads>,
              Shown(Section::kProcess,
                    [](const Config& c) {
                      return c.io_threads ? std::to_string(*c.io_threads) : std::string("auto");
                    }),
              kNoOther, cli::ValueHint{.words = kAutoWord}},
    OptionRow{"log-format", "FORMAT",
              "Log as text, or as json: one object per line (default: text)",
              sets<&Config::log_format, set_log_format>, needs_restart<&Config::log_format>,
              Shown(Section::kProcess, shows<&Config::log_format>), kNoOther,
              cli::ValueHint{.words = kLogFormatWords}},
    OptionRow{"audit-log", "FILE",
              "Append each change by a person to this file, one JSON object per line",
              sets<&Config::audit_log, set_text>, needs_restart<&Config::audit_log>,
              Shown(Section::kProcess,
                    [](const Config& c) { return c.audit_log.empty() ? "none" : c.audit_log; }),
              kNoOther},
    OptionRow{"insecure", nullptr,
              "Allow remote access without a password to the beanstalk port, or to the listed "
              "ports: --insecure=beanstalk,faktory,web",
              sets<&Config::insecure, set_open_ports>, needs_restart<&Config::insecure>,
              Shown(Section::kExposure, shows<&Config::insecure>), kNoOther},
};

}  // namespace millrace::server
