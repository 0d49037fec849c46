#include "server/signal_duties.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "engines/log_url.hpp"
#include "server/options/password.hpp"
#include "server/process/process.hpp"

namespace millrace::server {
namespace {

/// A file with more of them is none of ours.
constexpr std::size_t kIgnoredKeysLogged = 100;

constexpr std::size_t kQueuesLogged = 100;

/// A certificate with its chain, a key, or the certificates that a system trusts.
constexpr std::uintmax_t kPemBytesMax = std::uintmax_t{1} << 20;

void log_queues(const Server& server, const Log& log) {
  const View view = server.view();
  view.queues().page(0, view.queues().next_creation(), kQueuesLogged, [&log](const Queue& queue) {
    log.event("state_queue", {{"name", one_line(queue.name, kProblemBytesMax)},
                              {"ready", queue.ready.size()},
                              {"running", queue.reserved_count},
                              {"scheduled", queue.scheduled_count()},
                              {"retrying", queue.retrying_count},
                              {"dead", queue.dead.size()},
                              {"clients_waiting", queue.waiting.size()}});
  });
  log.event("state_queues", {{"count", view.queues().by_creation().size()},
                             {"connections", server.connection_count()}});
}

Outcome<std::string> password_of(const Config& config, const Log& log) {
  if (config.password_file.empty()) return config.password;
  return read_password_file(config.password_file, log);
}

std::string place_of_jobs(const Config& config) {
  if (config.is_volatile) return "jobs are kept in memory only";
  if (!config.log.empty()) return "jobs are kept in " + engines::shown_url(config.log);
  std::error_code error;
  const auto path = std::filesystem::absolute(config.data, error);
  return "jobs are kept in " + (error ? config.data : path.string());
}

/// What holds where a key of Faktory has no effect; empty: nothing need be said.
std::string instead_of(std::string_view key, const Config& config) {
  if (key == "redis" || key.starts_with("REDIS_")) return place_of_jobs(config);
  if (!config.faktory || (key != "FAKTORY_URL" && key != "FAKTORY_PROVIDER")) return {};
  return "clients read it; this server listens on " + config.faktory->text();
}

void log_ignored(const IgnoredKey& ignored, const Config& config, const Log& log) {
  const LogField key("key", one_line(ignored.key, kProblemBytesMax));
  const LogField place("place", ignored.place);
  const std::string instead = instead_of(ignored.key, config);
  if (instead.empty()) return log.event("config_ignored", {key, place});
  log.event("config_ignored", {key, place, {"instead", instead}});
}

}  // namespace

Outcome<Server::Secrets> read_secrets(const Config& config, const Log& log, ConfigFile kind) {
  Server::Secrets secrets;
  const Outcome<std::string> password = password_of(config, log);
  if (!password) return password.error();
  secrets.password = *password;
  auto alerts = read_alert_secrets(config.alerts, log);
  if (!alerts) return alerts.error();
  secrets.alerts = std::move(*alerts);
  if (!config.users_file.empty()) {
    auto users = read_users_file(config.users_file);
    if (!users) return users.error();
    if (auto checked = check_listeners(*users, config, config.beanstalk.has_value()); !checked) {
      return Problem{config.users_file + ": " + checked.error().text};
    }
    for (const std::string& warning : users->warnings)
      log.event("users_file", {{"warning", warning}});
    secrets.users = std::move(*users);
  }
  if (config.tls_certificate_file.empty()) return secrets;
  const std::pair<const char*, const std::string&> files[] = {
      {"--tls-cert", config.tls_certificate_file},
      {"--tls-key", config.tls_key_file},
      {"--ca", config.node_ca_file}};
  for (const auto& [flag, file] : files) {
    // Opening a pipe would end its writer.
    if (!file.empty() && ::access(file.c_str(), R_OK) != 0) {
      return Problem{std::string(flag) + ": cannot read " + file + ": " + std::strerror(errno)};
    }
    if (kind == ConfigFile::kRegular && may_wait_for_writer(file)) {
      return Problem{"cannot use " + file + ": not a regular file"};
    }
    std::error_code error;
    if (const auto bytes = std::filesystem::file_size(file, error);
        !error && bytes > kPemBytesMax) {
      return Problem{"cannot use " + file + ": larger than 1 MiB"};
    }
  }
  auto tls = TlsContext::load(config.tls_certificate_file, config.tls_key_file);
  if (!tls) return tls.error();
  if (!config.log.empty()) {
    if (auto trusted = tls->trust(config.node_ca_file); !trusted) return trusted.error();
  }
  // Shared with the options of the server.
  secrets.tls = std::make_shared<const TlsContext>(std::move(*tls));
  return secrets;
}

void log_ignored_keys(const Config& config, const Log& log) {
  const std::size_t count = config.ignored_keys.size();
  for (std::size_t i = 0; i < std::min(count, kIgnoredKeysLogged); ++i) {
    log_ignored(config.ignored_keys[i], config, log);
  }
  if (count > kIgnoredKeysLogged) {
    log.event("config_ignored", {{"more", count - kIgnoredKeysLogged}});
  }
}

SignalDuties::SignalDuties(Server& server, const ServeContext& context, Signals& signals)
    : server_(server),
      context_(context),
      watch_(server.poller(), signals, [this](int signal) { heed(signal); }) {}

std::vector<int> SignalDuties::waiting_numbers(const Config& config) {
  std::vector<int> numbers{SIGUSR1, SIGTTIN, SIGTSTP, SIGUSR2};
  if (config.personality.reloads) numbers.push_back(SIGHUP);
  return numbers;
}

void SignalDuties::heed(int signal) {
  if (signal == SIGUSR1) {
    is_draining_ = true;
    server_.drain_beanstalk();
  } else if (signal == SIGHUP) {
    server_.reopen_audit_log();
    begin_reload();
  } else if (signal == SIGTTIN) {
    log_queues(server_, context_.log);
  } else if (signal == SIGTSTP || signal == SIGUSR2) {
    // Workers and other servers know them, so that people send them.
    context_.log.event("signal_ignored", {{"signal", signal == SIGTSTP ? "SIGTSTP" : "SIGUSR2"}});
  } else {
    context_.manager.notify_stopping();
    last_ = signal;
    context_.on_stop();
    server_.stop();
    // The second call closes the connections at once.
    if (!context_.config.personality.waits_for_clients) server_.stop();
  }
}

Outcome<SignalDuties::Reread> SignalDuties::read_again(const ServeContext& context) try {
  Outcome<Config> config =
      context.starter.read_config ? context.starter.read_config() : Outcome<Config>(context.config);
  if (!config) return config.error();
  Outcome<Server::Secrets> secrets = read_secrets(*config, context.log, ConfigFile::kRegular);
  if (!secrets) return secrets.error();
  return Reread{.config = std::move(*config), .secrets = std::move(*secrets)};
} catch (const std::exception& exception) {
  return Problem{exception.what()};
}

void SignalDuties::begin_reload() {
  must_reload_again_ = is_reloading();
  if (must_reload_again_) return;
  context_.manager.notify_reloading();
  try {
    reading_ = std::async(std::launch::async, [this] {
      pthread_setname_np(pthread_self(), "reload");
      Outcome<Reread> read = read_again(context_);
      server_.poller().post([this] { finish_reload(); });
      return read;
    });
  } catch (const std::system_error& error) {
    context_.log.event("reload_failed", {{"problem", no_thread(error).text}});
    context_.manager.notify_ready();
  }
}

void SignalDuties::finish_reload() {
  Outcome<Reread> read = reading_.get();
  if (read) {
    apply(std::move(*read));
  } else {
    context_.log.event("reload_failed", {{"problem", read.error().text}});
  }
  context_.manager.notify_ready();
  if (must_reload_again_) begin_reload();
}

void SignalDuties::apply(Reread wanted) {
  SharedCronTable before = server_.options().config.cron;
  const std::vector<std::string> waiting = server_.reload(wanted.config, wanted.secrets);
  context_.log.routine("reloaded");
  log_ignored_keys(wanted.config, context_.log);
  if (!waiting.empty()) context_.log.event("restart_needed", {{"options", join(waiting)}});
  free(std::move(before));
}

/// Thousands of entries take milliseconds.
void SignalDuties::free(SharedCronTable table) {
  try {
    freeing_ = std::async(std::launch::async, [table = std::move(table)]() mutable { table = {}; });
  } catch (const std::system_error&) {
    // No room for a thread: they are free by now.
  }
}

}  // namespace millrace::server
