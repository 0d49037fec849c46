#include "server/options/config_in_force.hpp"

#include <optional>

#include "engines/log_url.hpp"

namespace millrace::server {

bool has_password(const Config& config) {
  return !config.password.empty() || !config.password_file.empty();
}

Config reloaded(Config running, const Config& wanted) {
  running.connections_max = wanted.connections_max;
  running.job_bytes_max = wanted.job_bytes_max;
  running.description = wanted.description;
  running.throttles = wanted.throttles;
  running.cron = wanted.cron;
  running.statsd = wanted.statsd;
  // A reload never removes the password: the ports are open, and other machines may reach them.
  if (!has_password(wanted)) return running;
  running.password = wanted.password;
  running.password_file = wanted.password_file;
  return running;
}

std::vector<std::pair<std::string, std::string>> shown_options(const Config& config) {
  const auto address = [](const std::optional<Address>& port) {
    return port ? port->text() : std::string("off");
  };
  const auto yes_or_no = [](bool is_so) { return std::string(is_so ? "yes" : "no"); };
  const auto sync = [&] {
    if (config.is_volatile) return std::string("none (--volatile)");
    if (config.sync.mode == SyncChoice::Mode::kAlways) return std::string("always");
    if (config.sync.mode == SyncChoice::Mode::kOff) return std::string("off");
    return "interval:" + std::to_string(config.sync.interval.count());
  };
  const auto names = [&] {
    std::string all;
    for (const std::string& name : config.web_hosts) all += (all.empty() ? "" : ", ") + name;
    return all.empty() ? std::string("none") : all;
  };
  const auto pushes = [&] {
    const Duration after_end = config.pushes.after_end;
    if (!config.pushes.is_on) return std::string("off");
    return after_end == Duration{} ? std::string("on") : std::to_string(after_end / 1s);
  };
  const auto socket_mode = [&] {
    if (!config.socket_mode) return std::string("by the umask");
    std::string digits;
    for (int shift = 6; shift >= 0; shift -= 3) {
      digits += static_cast<char>('0' + (*config.socket_mode >> shift & 7));
    }
    return digits;
  };
  return {{"data", config.is_volatile ? "none (--volatile)" : config.data},
          {"log", config.log.empty() ? "none" : engines::shown_url(config.log)},
          {"node", config.node.empty() ? "none" : config.node},
          {"lease", config.log.empty() ? "none" : std::to_string(config.lease.count())},
          {"relay", yes_or_no(!config.log.empty() && !config.keeps_ports_closed)},
          {"sync", config.log.empty() ? sync() : "by the log"},
          {"strict-fetch", yes_or_no(config.is_fetch_strict || !config.log.empty())},
          {"beanstalk", address(config.beanstalk)},
          {"faktory", address(config.faktory)},
          {"web", address(config.web)},
          {"password", has_password(config) ? "required" : "none"},
          {"tls", yes_or_no(!config.tls_certificate_file.empty())},
          {"web-read-only", yes_or_no(config.is_web_read_only)},
          {"web-host", names()},
          {"name", config.name.text.empty() ? "none" : config.name.text},
          {"insecure", yes_or_no(config.is_insecure)},
          {"memory-limit",
           config.memory_bytes_max == 0 ? "no limit" : std::to_string(config.memory_bytes_max)},
          {"segment-bytes", std::to_string(config.segment_bytes)},
          {"max-job-size", std::to_string(config.job_bytes_max)},
          {"max-connections",
           config.connections_max == 0 ? "no limit" : std::to_string(config.connections_max)},
          {"description", config.description},
          {"dead-max-jobs", std::to_string(config.dead_jobs_max)},
          {"push-once", pushes()},
          {"keep-finished", std::to_string(config.finished.jobs_max) + "," +
                                std::to_string(config.finished.age_max / 1s) + "s"},
          {"keep-finished-durable", yes_or_no(config.is_finished_durable)},
          {"worker-timeout", config.worker_timeout ? std::to_string(*config.worker_timeout / 1s)
                                                   : std::string("off")},
          {"poison-after", std::to_string(config.poison_after)},
          {"extend-while-alive", yes_or_no(config.extends_while_alive)},
          {"statsd", config.statsd ? config.statsd->location.text() : "none"},
          {"user", config.user.empty() ? "none" : config.user},
          {"socket-mode", socket_mode()}};
}

}  // namespace millrace::server
