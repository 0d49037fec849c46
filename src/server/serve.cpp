#include "server/serve.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "engines/log_url.hpp"
#include "journal/file/file_journal.hpp"
#include "journal/shared/cache_directory.hpp"
#include "journal/volatile/volatile_journal.hpp"
#include "server/foreign_jobs.hpp"
#include "server/net/handover.hpp"
#include "server/net/signals.hpp"
#include "server/options/config_in_force.hpp"
#include "server/options/password.hpp"
#include "server/process/descriptors.hpp"
#include "server/process/memory_return.hpp"
#include "server/process/process.hpp"
#include "server/process/user.hpp"
#include "server/server.hpp"
#include "server/shared_log.hpp"

namespace millrace::server {
namespace {

journal::SyncMode sync_mode_of(SyncChoice::Mode mode) {
  switch (mode) {
    case SyncChoice::Mode::kAlways:
      return journal::SyncMode::kAlways;
    case SyncChoice::Mode::kInterval:
      return journal::SyncMode::kInterval;
    case SyncChoice::Mode::kOff:
      return journal::SyncMode::kOff;
  }
  std::abort();
}

Outcome<std::unique_ptr<journal::FileJournal>> open_file_journal(const Config& config,
                                                                 journal::FileSystem& files,
                                                                 const Log& log) {
  journal::FileJournalOptions options;
  options.sync_mode = sync_mode_of(config.sync.mode);
  options.sync_interval = config.sync.interval;
  options.segment_bytes = config.segment_bytes;
  options.reserved_segments = kReservedSegments;
  // Pending replies wait for changes that can never become durable now. Without a reply, clients
  // know that the outcome is unknown.
  options.on_failure = [&log](const Problem& problem) {
    log.event("journal_failed", {{"problem", problem.text}});
    journal::end_process();
  };
  return journal::FileJournal::open(files, config.data, std::move(options));
}

Outcome<std::string> password_of(const Config& config, const Log& log) {
  if (config.password_file.empty()) return config.password;
  return read_password_file(config.password_file, log);
}

/// The files that SIGHUP reads again.
struct Secrets {
  std::string password;
  /// Shared with the options of the server; null: none.
  std::shared_ptr<const TlsContext> tls;
};

Outcome<Secrets> read_secrets(const Config& config, const Log& log) {
  Secrets secrets;
  const Outcome<std::string> password = password_of(config, log);
  if (!password) return password.error();
  secrets.password = *password;
  if (config.tls_certificate_file.empty()) return secrets;
  auto tls = TlsContext::load(config.tls_certificate_file, config.tls_key_file);
  if (!tls) return tls.error();
  // Shared with the options of the server.
  secrets.tls = std::make_shared<const TlsContext>(std::move(*tls));
  return secrets;
}

Server::Options server_options(const Config& config, const Secrets& secrets) {
  return {.beanstalk = config.beanstalk,
          .faktory = config.faktory,
          .web = config.web,
          .web_password = config.web_password,
          .is_web_read_only = config.is_web_read_only,
          .web_hosts = config.web_hosts,
          .password = secrets.password,
          .tls = secrets.tls,
          .connections_max = config.connections_max,
          .dead_jobs_max = config.dead_jobs_max,
          .job_bytes_max = config.job_bytes_max,
          .binlog_bytes_max = config.binlog_bytes_max.value_or(config.segment_bytes),
          .line_bytes_max =
              std::min<std::uint64_t>(faktory::Settings{}.line_bytes_max, config.segment_bytes),
          .memory_bytes_max = config.memory_bytes_max,
          .is_fetch_strict = config.is_fetch_strict || !config.log.empty(),
          .is_volatile = config.is_volatile,
          .is_insecure = config.is_insecure,
          .data_directory = config.is_volatile ? "" : config.data,
          .shown_options = shown_options(config)};
}

/// The arguments of `serve`, for all of its steps. All outlive the server.
struct Context {
  const Config& config;
  const ReadConfig& read_config;
  const Log& log;
};

/// Does what signals ask for, in the main loop's thread.
class SignalDuties {
 public:
  SignalDuties(Server& server, const Context& context)
      : server_(server),
        context_(context),
        in_force_(context.config),
        signals_(server.poller(), numbers(context.config), [this](int signal) { heed(signal); }) {}

  /// The signal that ended the server; nullopt: none did.
  [[nodiscard]] std::optional<int> last() const { return last_; }

 private:
  static std::vector<int> numbers(const Config& config) {
    std::vector<int> numbers{SIGTERM, SIGINT, SIGUSR1};
    if (config.personality.reloads) numbers.push_back(SIGHUP);
    return numbers;
  }

  void heed(int signal) {
    if (signal == SIGUSR1) {
      server_.drain_beanstalk();
    } else if (signal == SIGHUP) {
      if (const auto reloaded = reload(); !reloaded) {
        context_.log.event("reload_failed", {{"problem", reloaded.error().text}});
      }
    } else {
      last_ = signal;
      server_.stop();
      // The second call closes the connections at once.
      if (!context_.config.personality.waits_for_clients) server_.stop();
    }
  }

  /// Reads everything first, so that a problem in any part changes nothing.
  Outcome<Done> reload() {
    const Outcome<Config> wanted =
        context_.read_config ? context_.read_config() : Outcome<Config>(context_.config);
    if (!wanted) return wanted.error();
    const Outcome<Secrets> secrets = read_secrets(*wanted, context_.log);
    if (!secrets) return secrets.error();
    in_force_ = reloaded(in_force_, *wanted);
    Server::Options options = server_options(*wanted, *secrets);
    options.shown_options = shown_options(in_force_);
    server_.reload(options);
    context_.log.routine("reloaded");
    const std::vector<std::string> waiting = options_for_restart(context_.config, *wanted);
    if (!waiting.empty()) context_.log.event("restart_needed", {{"options", join(waiting)}});
    return Done{};
  }

  Server& server_;
  const Context context_;
  Config in_force_;
  std::optional<int> last_;
  const Signals signals_;
};

// ---- the ports ----------------------------------------------------------------------------------

/// The sockets that systemd has opened, for the enabled ports. Others are logged and closed.
Outcome<Server::Sockets> handed_over(const Config& config, const Log& log) {
  auto taken = take_sockets(config.handover, process_id());
  if (!taken) return taken.error();
  Server::Sockets ports;
  const std::array places = {
      SocketPlace{.name = "beanstalk",
                  .is_wanted = config.beanstalk.has_value(),
                  .socket = ports.beanstalk},
      SocketPlace{
          .name = "faktory", .is_wanted = config.faktory.has_value(), .socket = ports.faktory},
      SocketPlace{.name = "web", .is_wanted = config.web.has_value(), .socket = ports.web},
  };
  for (const HandedOver& left : hand_out(std::move(*taken), places)) {
    log.event("inherited_socket_ignored",
              {{"name", left.name}, {"address", left.socket.address().text()}});
  }
  return ports;
}

Outcome<Server::Sockets> open_ports(const Config& config, const Server::Options& options,
                                    const Log& log) {
  auto given = handed_over(config, log);
  if (!given) return given.error();
  return Server::bind(options, std::move(*given), log);
}

/// In beanstalkd's form: a unix socket is its path alone.
std::string text_of(const Address& address) {
  return address.is_unix() ? address.path : address.text();
}

void announce_visit(Server::Visit visit, int descriptor) {
  std::printf("%s %d\n", visit == Server::Visit::kBegun ? "accept" : "close", descriptor);
  std::fflush(stdout);
}

void announce(const Server& server, Personality::Announcement announcement) {
  switch (announcement) {
    case Personality::Announcement::kPorts:
      for (const Server::Port& port : server.ports()) {
        std::printf("%s: %s\n", port.name, port.address.text().c_str());
      }
      std::puts("ready");
      break;
    case Personality::Announcement::kBeanstalkd:
      std::printf("pid %lld\n", static_cast<long long>(process_id()));
      for (const Server::Port& port : server.ports()) {
        std::printf("bind %d %s\n", port.descriptor, text_of(port.address).c_str());
      }
      break;
    case Personality::Announcement::kNone:
      break;
  }
  std::fflush(stdout);
}

// ---- start to end -------------------------------------------------------------------------------

using Step = StartFailure::Step;

StartFailure failure(Step step, const Problem& problem) {
  return {step, problem.text};
}

Result<Done, StartFailure> give_up_rights(const Config& config) {
  if (config.user.empty()) return Done{};
  const Outcome<User> user = find_user(config.user);
  if (!user) return failure(Step::kFindUser, user.error());
  if (const auto become_it = become(*user); !become_it) {
    return failure(Step::kBecomeUser, become_it.error());
  }
  return Done{};
}

/// Everything that a server needs to run, once its ports are open.
struct Start {
  Context context;
  const Server::Options& options;
  Server::Sockets sockets;
};

/// `file_journal` is the same object as `journal`, or null if that is of another kind.
Result<Ended, StartFailure> run(Start start, std::unique_ptr<Journal> journal,
                                const journal::FileJournal* file_journal) {
  const Log& log = start.context.log;
  SystemClock clock;
  Server server(start.options, std::move(journal), clock, log);
  if (auto opened = server.open(std::move(start.sockets)); !opened) {
    return failure(Step::kOther, opened.error());
  }
  if (file_journal != nullptr && file_journal->cut_bytes() > 0) {
    log.event("torn_tail_cut", {{"bytes", file_journal->cut_bytes()}});
  }
  if (file_journal != nullptr && !file_journal->had_extent()) log.event("extent_missing");
  if (file_journal != nullptr && !file_journal->locks_directory()) {
    log.event("directory_not_locked");
  }
  const Config& config = start.context.config;
  log.routine("started", {{"version", MILLRACE_VERSION},
                          {"data", config.is_volatile ? "none" : config.data.c_str()}});
  const SignalDuties signals(server, start.context);
  const MemoryReturn memory_return(server.ticker(), clock.now());
  announce(server, config.personality.announcement);
  server.run();
  log.routine("stopped");
  return Ended{signals.last()};
}

Outcome<Done> check_directory(const Config& config) {
  std::error_code error;
  if (!config.personality.makes_directory && !std::filesystem::exists(config.data, error)) {
    const auto why = error ? error : std::make_error_code(std::errc::no_such_file_or_directory);
    return Problem{"cannot use directory " + config.data + ": " + why.message()};
  }
  return refuse_foreign_jobs(config.data);
}

Result<Ended, StartFailure> run_with_file_journal(Start start) {
  const Config& config = start.context.config;
  if (auto checked = check_directory(config); !checked) {
    return failure(Step::kOpenJournal, checked.error());
  }
  journal::PosixFileSystem files;
  if (auto refused = refuse_cache(files, config); !refused) {
    return failure(Step::kOpenJournal, refused.error());
  }
  auto journal = open_file_journal(config, files, start.context.log);
  if (!journal && journal.error().is_out_of_space) {
    return failure(Step::kOpenJournal,
                   Problem{journal.error().text +
                           "; the first journal file has the size of --segment-bytes (64 MiB by "
                           "default): free that much space, or set a smaller one"});
  }
  if (!journal) return failure(Step::kOpenJournal, journal.error());
  const journal::FileJournal* file_journal = journal->get();
  return run(std::move(start), std::move(*journal), file_journal);
}

// ---- a log that several servers share -----------------------------------------------------------

/// What a server did with a shared log before it ended.
struct Shift {
  std::optional<int> signal;
  bool must_start_over = false;
  bool is_cache_useless = false;
  bool has_led = false;
};

/// Follows and serves, until a signal, or until all must be read anew.
Result<Shift, StartFailure> work_shift(Start start, journal::FileSystem& files) {
  const Config& config = start.context.config;
  const Log& log = start.context.log;
  SystemClock clock;
  auto opened = open_shared_journal(config, files, clock, log);
  if (!opened) return failure(Step::kOpenJournal, opened.error());
  journal::ReplicatedJournal& journal = **opened;
  Server server(start.options, std::move(*opened), clock, log, &journal);
  if (auto replayed = server.open(std::move(start.sockets)); !replayed) {
    if (!journal.is_cache_useless()) return failure(Step::kOther, replayed.error());
    log.event("cache_dropped", {{"problem", replayed.error().text}});
    return Shift{.signal = {}, .must_start_over = true, .is_cache_useless = true};
  }
  log.routine("started", {{"version", MILLRACE_VERSION},
                          {"log", engines::shown_url(config.log)},
                          {"node", config.node},
                          {"data", config.data}});
  const SignalDuties signals(server, start.context);
  const MemoryReturn memory_return(server.ticker(), clock.now());
  announce(server, config.personality.announcement);
  server.run();
  return Shift{.signal = signals.last(),
               .must_start_over = server.must_start_over(),
               .is_cache_useless = journal.is_cache_useless(),
               .has_led = server.has_taken_over()};
}

Result<Ended, StartFailure> run_with_shared_log(Start start) {
  const Config& config = start.context.config;
  if (auto checked = check_directory(config); !checked) {
    return failure(Step::kOpenJournal, checked.error());
  }
  journal::PosixFileSystem files;
  std::optional<Server::Sockets> sockets(std::move(start.sockets));
  Server::Options options = start.options;
  for (;;) {
    auto shift = work_shift({start.context, options, std::move(*sockets)}, files);
    if (!shift) return shift.error();
    if (!shift->must_start_over) {
      start.context.log.routine("stopped");
      return Ended{shift->signal};
    }
    if (shift->has_led) ++options.takeovers;
    if (shift->is_cache_useless) {
      if (auto emptied = journal::empty_cache(files, config.data); !emptied) {
        return failure(Step::kOpenJournal, emptied.error());
      }
    }
    auto bound = Server::bind(start.options, {}, start.context.log);
    if (!bound) return failure(Step::kListen, bound.error());
    sockets.emplace(std::move(*bound));
  }
}

}  // namespace

Result<Ended, StartFailure> serve(const Config& config, const Log& log,
                                  const ReadConfig& read_config) {
  std::signal(SIGPIPE, SIG_IGN);
  // A write beyond the file size limit then fails with an error, and does not end the process.
  std::signal(SIGXFSZ, SIG_IGN);
  // Before anything else is opened.
  const auto connections = share_descriptors({.limit = raise_descriptor_limit(),
                                              .open_already = open_descriptors(),
                                              .has_journal = !config.is_volatile,
                                              .has_web = config.web.has_value(),
                                              .web_connections_max = kWebConnectionsMax});
  if (!connections) return failure(Step::kOther, connections.error());
  const Outcome<Secrets> secrets = read_secrets(config, log);
  if (!secrets) return failure(Step::kOther, secrets.error());
  Server::Options options = server_options(config, *secrets);
  options.clients_max = connections->clients;
  options.web_connections_max = connections->web;
  options.random_seed = random_number();
  options.node = config.node;
  if (!config.log.empty()) {
    options.log_url = engines::shown_url(config.log);
    options.own_ports = advertised_ports(config, host_facts().hostname);
  }
  if (!config.log.empty() && !config.keeps_ports_closed) {
    options.relay = Relay::Options{.node = config.node, .own_ports = options.own_ports};
  }
  if (config.personality.announcement == Personality::Announcement::kBeanstalkd) {
    options.on_visit = announce_visit;
  }
  // The order matters: ports below 1024 need root, and the journal must belong to the user.
  auto sockets = open_ports(config, options, log);
  if (!sockets) return failure(Step::kListen, sockets.error());
  if (auto given_up = give_up_rights(config); !given_up) return given_up.error();
  Start start{{config, read_config, log}, options, std::move(*sockets)};
  if (!config.log.empty()) return run_with_shared_log(std::move(start));
  if (!config.is_volatile) return run_with_file_journal(std::move(start));
  return run(std::move(start), std::make_unique<journal::VolatileJournal>(), nullptr);
}

}  // namespace millrace::server
