#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/options/value_hint.hpp"
#include "server/options/config.hpp"
#include "server/options/config_check.hpp"
#include "server/options/config_in_force.hpp"
#include "server/options/option_values.hpp"

/// The table of options: flags, help, config file and environment come from it.
namespace millrace::server {

/// One option of `serve`. The flag is `--name`, the key of the config file is `name`, and the
/// environment variable is MILLRACE_NAME, with `_` for `-`.
struct OptionRow {
  const char* name;
  const char* value;  ///< placeholder for the value in the help; null: a switch
  const char* help;
  Outcome<Done> (*apply)(Config&, const std::string&);
  /// False when the two differ and only a restart can apply the difference. A reference, so that
  /// no row can leave it out.
  bool (&is_same)(const Config&, const Config&);
  cli::ValueHint hint = {};
};

inline constexpr std::array<std::string_view, 1> kOffWord = {"off"};
inline constexpr std::array<std::string_view, 2> kOnOffWords = {"on", "off"};
inline constexpr std::array<std::string_view, 3> kSyncWords = {"always", "interval:1000", "off"};

template <auto member>
bool is_same(const Config& a, const Config& b) {
  return a.*member == b.*member;
}

/// SIGHUP applies every change, so none needs a restart.
inline bool any_change(const Config&, const Config&) {
  return true;
}

inline constexpr std::array kOptionRows = {
    OptionRow{"data", "DIR", "Data directory (default: ./millrace-data)",
              [](Config& c, const std::string& text) { return set_text(c.data, text); },
              is_same<&Config::data>},
    OptionRow{"beanstalk", "ADDR|off", "Address for beanstalk clients (default: 127.0.0.1:11300)",
              [](Config& c, const std::string& text) { return set_address(c.beanstalk, text); },
              is_same<&Config::beanstalk>, cli::ValueHint{.words = kOffWord}},
    OptionRow{"faktory", "ADDR|off",
              "Address for Faktory clients and workers (default: 127.0.0.1:7419)",
              [](Config& c, const std::string& text) { return set_address(c.faktory, text); },
              is_same<&Config::faktory>, cli::ValueHint{.words = kOffWord}},
    OptionRow{"web", "ADDR|off",
              "Address for the web UI, the JSON API and metrics (default: 127.0.0.1:7420)",
              [](Config& c, const std::string& text) { return set_address(c.web, text); },
              is_same<&Config::web>, cli::ValueHint{.words = kOffWord}},
    OptionRow{
        "web-read-only", nullptr, "Refuse every change through the web UI and the API",
        [](Config& c, const std::string& text) { return set_switch(c.is_web_read_only, text); },
        is_same<&Config::is_web_read_only>},
    OptionRow{"web-host", "NAMES",
              "Extra Host names accepted when no password is set, separated by commas",
              [](Config& c, const std::string& text) { return set_names(c.web_hosts, text); },
              is_same<&Config::web_hosts>},
    OptionRow{"name", "NAME[:COLOR]", "Name of this server in the web UI, with a color for its bar",
              [](Config& c, const std::string& text) { return set_server_name(c.name, text); },
              is_same<&Config::name>},
    OptionRow{"password-file", "FILE", "File with the password for Faktory clients and browsers",
              [](Config& c, const std::string& text) { return set_text(c.password_file, text); },
              keeps_password},
    OptionRow{
        "tls-cert", "FILE",
        "TLS certificate chain (PEM); all ports except unix: then speak TLS only",
        [](Config& c, const std::string& text) { return set_text(c.tls_certificate_file, text); },
        is_same_tls},
    OptionRow{"tls-key", "FILE", "Private key of the certificate (PEM)",
              [](Config& c, const std::string& text) { return set_text(c.tls_key_file, text); },
              any_change},
    OptionRow{"max-connections", "N",
              "Maximum number of Faktory connections; 0: no limit (default: 0)",
              [](Config& c, const std::string& text) { return set_count(c.connections_max, text); },
              any_change},
    OptionRow{
        "description", "TEXT",
        "What INFO says that the server is; some applications look for Faktory Enterprise "
        "(default: Faktory)",
        [](Config& c, const std::string& text) { return set_description(c.description, text); },
        any_change},
    OptionRow{
        "dead-max-jobs", "N",
        "Maximum number of dead pushed jobs; beyond it the oldest is deleted (default: 1000000)",
        [](Config& c, const std::string& text) { return set_count(c.dead_jobs_max, text); },
        is_same<&Config::dead_jobs_max>},
    OptionRow{
        "push-once", "MODE",
        "A push that is sent again while its job lives, or so many seconds after its end, adds no "
        "second one: on, off or SECONDS (default: on)",
        [](Config& c, const std::string& text) { return set_pushes(c.pushes, text); },
        is_same<&Config::pushes>, cli::ValueHint{.words = kOnOffWords}},
    OptionRow{
        "keep-finished", "N[,AGE]",
        "How many finished jobs are remembered, 0 to 100000, and how long (default: 10000,24h)",
        [](Config& c, const std::string& text) { return set_finished(c.finished, text); },
        is_same<&Config::finished>},
    OptionRow{
        "keep-finished-durable", nullptr,
        "Finished jobs are in the journal too, and outlive a restart",
        [](Config& c, const std::string& text) { return set_switch(c.is_finished_durable, text); },
        is_same<&Config::is_finished_durable>},
    OptionRow{
        "worker-timeout", "TIME",
        "Requeue jobs of a lost worker after this time, such as 90s or 5m, or off (default: 60s)",
        [](Config& c, const std::string& text) { return set_timeout(c.worker_timeout, text); },
        is_same<&Config::worker_timeout>, cli::ValueHint{.words = kOffWord}},
    OptionRow{
        "poison-after", "N",
        "A job that loses so many workers in a row is dead, at most 10; 0: never (default: 3)",
        [](Config& c, const std::string& text) { return set_poison_after(c.poison_after, text); },
        is_same<&Config::poison_after>},
    OptionRow{
        "extend-while-alive", nullptr,
        "Reservations of workers that are connected and beat do not run out",
        [](Config& c, const std::string& text) { return set_switch(c.extends_while_alive, text); },
        is_same<&Config::extends_while_alive>},
    OptionRow{
        "sync", "MODE",
        "When a reply may be sent: always (change on disk), interval:MS (written, on disk every MS "
        "milliseconds) or off (written) (default: always)",
        [](Config& c, const std::string& text) {
          const auto set = set_sync(c.sync, text);
          c.has_asked_for_syncs = c.sync.mode == SyncChoice::Mode::kAlways;
          return set;
        },
        is_same<&Config::sync>, cli::ValueHint{.words = kSyncWords}},
    OptionRow{
        "strict-fetch", nullptr,
        "Hand out a job only when its reservation is on disk, too (with --sync always)",
        [](Config& c, const std::string& text) { return set_switch(c.is_fetch_strict, text); },
        is_same<&Config::is_fetch_strict>},
    OptionRow{"volatile", nullptr,
              "Keep no journal; --data has no effect, and a restart loses all jobs",
              [](Config& c, const std::string& text) { return set_switch(c.is_volatile, text); },
              is_same<&Config::is_volatile>},
    OptionRow{"log", "URL",
              "A log that servers share, one of which serves at a time: nats://HOSTS/STREAM or "
              "postgresql://...",
              [](Config& c, const std::string& text) { return set_log(c.log, text); },
              is_same<&Config::log>},
    OptionRow{"node", "NAME", "With --log: the name of this server, which no other one has",
              [](Config& c, const std::string& text) { return set_node(c.node, text); },
              is_same<&Config::node>},
    OptionRow{"lease", "MS",
              "With --log: how long the others wait for a server that is gone (default: 1000)",
              [](Config& c, const std::string& text) { return set_lease(c.lease, text); },
              is_same<&Config::lease>},
    OptionRow{"advertise", "HOST",
              "With --log: the host by which others reach this server (default: that of its ports)",
              [](Config& c, const std::string& text) { return set_text(c.advertise, text); },
              is_same<&Config::advertise>},
    OptionRow{"ca", "FILE",
              "With --log and TLS: certificates that the web port of the leader is checked with "
              "(PEM; default: the system's)",
              [](Config& c, const std::string& text) { return set_text(c.node_ca_file, text); },
              any_change},
    OptionRow{
        "no-relay", nullptr,
        "With --log: keep the ports closed while another server serves, instead of relaying to it",
        [](Config& c, const std::string& text) { return set_switch(c.keeps_ports_closed, text); },
        is_same<&Config::keeps_ports_closed>},
    OptionRow{
        "allow-unsynced-log", nullptr,
        "With --log: use an engine that may lose acknowledged jobs in a power cut",
        [](Config& c, const std::string& text) { return set_switch(c.allows_unsynced_log, text); },
        is_same<&Config::allows_unsynced_log>},
    OptionRow{
        "log-password-file", "FILE", "File with the password for the engine of --log",
        [](Config& c, const std::string& text) { return set_text(c.log_password_file, text); },
        is_same<&Config::log_password_file>},
    OptionRow{
        "log-credentials", "FILE", "Credentials file for NATS",
        [](Config& c, const std::string& text) { return set_text(c.log_credentials_file, text); },
        is_same<&Config::log_credentials_file>},
    OptionRow{"log-ca", "FILE", "Certificates that the engine's certificate is checked with (PEM)",
              [](Config& c, const std::string& text) { return set_text(c.log_ca_file, text); },
              is_same<&Config::log_ca_file>},
    OptionRow{
        "log-cert", "FILE", "Certificate to show to the engine (PEM)",
        [](Config& c, const std::string& text) { return set_text(c.log_certificate_file, text); },
        is_same<&Config::log_certificate_file>},
    OptionRow{"log-key", "FILE", "Private key of that certificate (PEM)",
              [](Config& c, const std::string& text) { return set_text(c.log_key_file, text); },
              is_same<&Config::log_key_file>},
    OptionRow{
        "memory-limit", "BYTES",
        "Memory limit for jobs, 65536 or more; beyond it, bodies stay on disk (default: 0, none)",
        [](Config& c, const std::string& text) { return set_memory(c.memory_bytes_max, text); },
        is_same<&Config::memory_bytes_max>},
    OptionRow{
        "segment-bytes", "BYTES", "Size of a journal file, 1 MiB to 1 GiB (default: 67108864)",
        [](Config& c, const std::string& text) { return set_segment_size(c.segment_bytes, text); },
        is_same<&Config::segment_bytes>},
    OptionRow{"max-job-size", "BYTES",
              "Longest body of a beanstalk put, up to 1 GiB (default: 65535)",
              [](Config& c, const std::string& text) { return set_size(c.job_bytes_max, text); },
              any_change},
    OptionRow{"user", "USER", "When started as root: switch to this user once the ports are open",
              [](Config& c, const std::string& text) { return set_text(c.user, text); },
              is_same<&Config::user>},
    OptionRow{"socket-mode", "MODE",
              "Mode of unix: sockets, such as 660 (default: what the umask leaves of 777)",
              [](Config& c, const std::string& text) { return set_mode(c.socket_mode, text); },
              is_same<&Config::socket_mode>},
    OptionRow{"insecure", nullptr, "Allow ports that other machines can reach without a password",
              [](Config& c, const std::string& text) { return set_switch(c.is_insecure, text); },
              is_same<&Config::is_insecure>},
};

}  // namespace millrace::server
