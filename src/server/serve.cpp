#include "server/serve.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "engines/log_url.hpp"
#include "journal/file_journal.hpp"
#include "journal/shared/cache_directory.hpp"
#include "journal/volatile/volatile_journal.hpp"
#include "server/foreign_jobs.hpp"
#include "server/process/line_writer.hpp"
#include "server/process/process.hpp"
#include "server/server.hpp"
#include "server/shared_log.hpp"
#include "server/signal_duties.hpp"
#include "server/system/handover.hpp"
#include "server/system/memory_return.hpp"
#include "server/system/service_manager.hpp"
#include "server/system/signals.hpp"
#include "server/system/state_report.hpp"
#include "server/turn/turn.hpp"
#include "server/waiting_connections.hpp"

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

/// What a batch has besides the longest job.
constexpr std::uint64_t kLongBatchRoom = std::uint64_t{64} << 10;

Outcome<std::unique_ptr<journal::FileJournal>> open_file_journal(const Config& config,
                                                                 journal::FileSystem& files,
                                                                 const Log& log) {
  journal::FileJournalOptions options;
  options.sync_mode = sync_mode_of(config.sync.mode);
  options.sync_interval = config.sync.interval;
  options.segment_bytes = config.segment_bytes;
  options.long_batch_bytes = config.job_bytes_max + kLongBatchRoom;
  options.reserved_segments = kReservedSegments;
  // Pending replies wait for changes that can never become durable now. Without a reply, clients
  // know that the outcome is unknown.
  options.on_failure = [&log](const Problem& problem) {
    (void)wait_for_reader(STDERR_FILENO);
    log.event("journal_failed", {{"problem", problem.text}});
    journal::end_process();
  };
  return journal::FileJournal::open(files, config.data, std::move(options));
}

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

/// What the other servers that share the log are told.
std::string own_ports_text(const Server::Sockets& sockets, const Config& config) {
  std::vector<OwnPort> ports;
  const auto add = [&ports](const char* name, const std::optional<BoundSocket>& socket) {
    if (socket) ports.push_back({name, socket->address(), socket->is_local()});
  };
  add("beanstalk", sockets.beanstalk);
  add("faktory", sockets.faktory);
  add("web", sockets.web);
  return advertised_ports(ports, {.advertised = config.advertise,
                                  .hostname = host_facts().hostname,
                                  .loopback = loopback_name()});
}

/// In beanstalkd's form: a unix socket is its path alone.
std::string text_of(const Address& address) {
  return address.is_unix() ? address.path : address.text();
}

/// In beanstalkd's form, on stdout.
std::function<void(Server::Visit, int)> visit_printer() {
  // Shared: a function can be copied.
  return [output = std::make_shared<LineWriter>(STDOUT_FILENO)](Server::Visit visit, int number) {
    const char* what = visit == Server::Visit::kBegun ? "accept " : "close ";
    output->write(what + std::to_string(number) + "\n");
  };
}

void announce(const Server& server, const Config& config, const ServiceManager& manager) {
  std::string lines;
  switch (config.personality.announcement) {
    case Personality::Announcement::kPorts:
      for (const Server::Port& port : server.ports()) {
        lines += std::string(port.name) + ": " + port.address.text() + "\n";
      }
      lines += "ready\n";
      break;
    case Personality::Announcement::kBeanstalkd:
      lines = "pid " + std::to_string(process_id()) + "\n";
      for (const Server::Port& port : server.ports()) {
        lines += "bind " + std::to_string(port.descriptor) + " " + text_of(port.address) + "\n";
      }
      break;
    case Personality::Announcement::kNone:
      break;
  }
  if (!lines.empty() && wait_for_reader(STDOUT_FILENO)) LineWriter(STDOUT_FILENO).write(lines);
  manager.notify_ready();
}

// ---- start to end -------------------------------------------------------------------------------

using Step = StartFailure::Step;

StartFailure failure(Step step, const Problem& problem) {
  return {step, problem.text};
}

constexpr std::array kSockets = {&Server::Sockets::beanstalk, &Server::Sockets::faktory,
                                 &Server::Sockets::web};

using SocketDuty = std::function<Outcome<Done>(const BoundSocket& socket)>;

Outcome<Done> for_each(const Server::Sockets& sockets, const SocketDuty& duty) {
  for (const auto socket : kSockets) {
    if (!(sockets.*socket)) continue;
    if (auto done = duty(*(sockets.*socket)); !done) return done;
  }
  for (const BoundSocket& socket : sockets.of_users) {
    if (auto done = duty(socket); !done) return done;
  }
  return Done{};
}

Result<Done, StartFailure> become_user(const std::string& name, const Server::Sockets& sockets) {
  const Outcome<User> user = find_user(name);
  if (!user) return failure(Step::kFindUser, user.error());
  const auto give = [&](const auto& each) {
    return each.give_file_to(user->user_id, user->group_id);
  };
  const Outcome<Done> given = is_root() ? for_each(sockets, give) : Done{};
  if (!given) return failure(Step::kListen, given.error());
  if (const auto become_it = become(*user); !become_it) {
    return failure(Step::kBecomeUser, become_it.error());
  }
  return Done{};
}

/// Does what `--user` and `--socket-mode` ask for, once the ports are open: the files of unix
/// sockets become the user's, then the process runs as that user, and then the files get their
/// mode. Nobody could connect by another mode before, since nobody listens yet.
Result<Done, StartFailure> give_up_rights(const Config& config, const Server::Sockets& sockets) {
  if (!config.user.empty()) {
    if (auto became = become_user(config.user, sockets); !became) return became;
  }
  if (!config.socket_mode) return Done{};
  const auto give_mode = [&](const auto& each) { return each.set_file_mode(*config.socket_mode); };
  const Outcome<Done> set = for_each(sockets, give_mode);
  if (!set) return failure(Step::kListen, set.error());
  return Done{};
}

/// Everything that a server needs to run, once its ports are open.
struct Start {
  ServeContext context;
  Server::Options options;
  Server::Sockets sockets;
  Signals& signals;
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
  if (file_journal != nullptr && !file_journal->had_starts()) log.event("starts_missing");
  if (file_journal != nullptr && !file_journal->locks_directory()) {
    log.event("directory_not_locked");
  }
  const Config& config = start.context.config;
  log.routine("started", {{"version", MILLRACE_VERSION},
                          {"data", config.is_volatile ? "none" : config.data.c_str()}});
  const std::uint64_t segment_bytes =
      file_journal != nullptr ? file_journal->extent().segment_bytes : config.segment_bytes;
  if (segment_bytes < config.segment_bytes) {
    // Whoever asked for a size is told, also under a name that logs little.
    const bool was_asked = config.segment_bytes != Config().segment_bytes;
    const std::initializer_list<LogField> sizes = {
        {"segment_bytes", segment_bytes}, {"reserved_bytes", kReservedSegments * segment_bytes}};
    was_asked ? log.event("small_volume", sizes) : log.routine("small_volume", sizes);
  }
  start.signals.add(SignalDuties::ending_numbers());
  const SignalDuties duties(server, start.context, start.signals);
  const MemoryReturn memory_return(server.ticker(), clock.now());
  const WatchdogDeadline watchdog(start.context.manager, server.ticker(), clock.now());
  announce(server, config, start.context.manager);
  server.run();
  log.routine("stopped");
  return Ended{duties.last()};
}

Outcome<Done> check_directory(const ServeContext& context) {
  const Config& config = context.config;
  std::error_code error;
  if (!config.personality.makes_directory && !std::filesystem::exists(config.data, error)) {
    const auto why = error ? error : std::make_error_code(std::errc::no_such_file_or_directory);
    return Problem{"cannot use directory " + config.data + ": " + why.message()};
  }
  if (context.starter.check_directory) {
    if (auto fit = context.starter.check_directory(config.data); !fit) return fit;
  }
  return refuse_foreign_jobs(config.data);
}

/// A command is no longer than a segment. That is the size of a file, where `stats` tells of one.
void set_segment_bytes(Server::Options& options, std::uint64_t segment_bytes) {
  options.line_bytes_max = std::min<std::uint64_t>(options.line_bytes_max, segment_bytes);
  options.binlog_bytes_max = options.config.binlog_bytes_max.value_or(segment_bytes);
}

Result<Ended, StartFailure> run_with_file_journal(Start start) {
  const Config& config = start.context.config;
  if (auto checked = check_directory(start.context); !checked) {
    return failure(Step::kOpenJournal, checked.error());
  }
  journal::PosixFileSystem files;
  if (auto refused = refuse_cache(files, config); !refused) {
    return failure(Step::kOpenJournal, refused.error());
  }
  auto journal = open_file_journal(config, files, start.context.log);
  if (!journal) return failure(Step::kOpenJournal, journal.error());
  const journal::FileJournal* file_journal = journal->get();
  const std::uint64_t segment_bytes = file_journal->extent().segment_bytes;
  if (segment_bytes < config.segment_bytes) {
    Server::Options& options = start.options;
    // Longer ones could not be moved on a full disk.
    options.job_bytes_cap = segment_bytes - kLongBatchRoom;
    set_segment_bytes(options, segment_bytes);
  }
  return run(std::move(start), std::move(*journal), file_journal);
}

// ---- a log that several servers share -----------------------------------------------------------

/// A process that shares a log: one server after the other, each of which reads the log anew.
/// Between them it keeps the addresses of the ports, the signals and the options in force.
class SharedRun {
 public:
  explicit SharedRun(Start start)
      : context_(std::move(start.context)),
        options_(start.options),
        sockets_(std::move(start.sockets)),
        signals_(start.signals) {
    signals_.add(SignalDuties::ending_numbers());
    // Nobody is to come any more. The web port says so until the end.
    context_.on_stop = [this] {
      sockets_.beanstalk.reset();
      sockets_.faktory.reset();
    };
  }

  Result<Ended, StartFailure> run() {
    for (;;) {
      const auto shift = work_shift_or_wait();
      if (!shift) return shift.error();
      if (*shift == Shift::kEnded) break;
      if (*shift == Shift::kUseless) {
        if (auto emptied = journal::empty_cache(files_, context_.config.data); !emptied) {
          return failure(Step::kOpenJournal, emptied.error());
        }
      }
      // A standby without a relay has its ports closed.
      if (!options_.relays()) refuse_clients();
    }
    context_.log.routine("stopped");
    return Ended{last_signal_};
  }

 private:
  /// How a server ended.
  enum class Shift {
    kEnded,    ///< by a signal, or it could not go on
    kOver,     ///< all is to be read anew
    kUseless,  ///< the same, and the cache is to be emptied first
  };
  using Opened = Outcome<std::unique_ptr<journal::ReplicatedJournal>>;

  /// A node that has started tries again where it has no thread for what it reads anew.
  Result<Shift, StartFailure> work_shift_or_wait() try {
    return work_shift();
  } catch (const std::system_error& error) {
    if (!has_started_) throw;
    note_unreachable(no_thread(error));
    return Shift::kOver;
  }

  Result<Shift, StartFailure> work_shift() {
    Opened opened = wait_for_log();
    if (last_signal_) return Shift::kEnded;
    if (!opened) return failure(Step::kOpenJournal, opened.error());
    journal::ReplicatedJournal& journal = **opened;
    const Log& log = context_.log;
    options_.should_continue = [this] {
      for (const int signal : signals_.take()) note(signal);
      return !last_signal_;
    };
    Server server(options_, std::move(*opened), clock_, log, &journal);
    auto sockets = duplicate(sockets_);
    if (!sockets) return failure(Step::kListen, sockets.error());
    if (auto replayed = server.open(std::move(*sockets)); !replayed) {
      if (last_signal_) return Shift::kEnded;
      if (journal.is_cache_useless()) {
        log.event("cache_dropped", {{"problem", replayed.error().text}});
        return Shift::kUseless;
      }
      if (!replayed.error().is_passing) return failure(Step::kOther, replayed.error());
      note_unreachable(replayed.error());
      return Shift::kOver;
    }
    if (!std::exchange(has_started_, true)) announce_start(server);
    serve(server);
    if (server.has_taken_over()) ++options_.takeovers;
    if (!server.must_start_over()) return Shift::kEnded;
    return journal.is_cache_useless() ? Shift::kUseless : Shift::kOver;
  }

  void serve(Server& server) {
    SignalDuties duties(server, context_, signals_);
    for (const int signal : std::exchange(put_off_, {})) duties.heed(signal);
    const MemoryReturn memory_return(server.ticker(), clock_.now());
    const WatchdogDeadline watchdog(context_.manager, server.ticker(), clock_.now());
    server.run();
    last_signal_ = duties.last();
    if (duties.is_draining()) put_off_.push_back(SIGUSR1);
    if (duties.is_reloading()) put_off_.push_back(SIGHUP);
    const std::uint64_t takeovers = options_.takeovers;
    options_ = server.options();
    options_.takeovers = takeovers;
  }

  void announce_start(const Server& server) {
    const Config& config = context_.config;
    context_.log.routine("started", {{"version", MILLRACE_VERSION},
                                     {"log", engines::shown_url(config.log)},
                                     {"node", config.node},
                                     {"data", config.data}});
    announce(server, config, context_.manager);
  }

  /// Tries until it is there, or a signal ends that: then there is nothing.
  Opened wait_for_log() {
    WaitingConnections waiting({.clock = clock_,
                                .log = context_.log,
                                .relay = {.node = context_.config.node,
                                          .own_ports = options_.own_ports,
                                          .is_encrypted = options_.secrets.tls != nullptr},
                                .clients_max = options_.clients_max,
                                .web_connections_max = options_.web_connections_max});
    const SignalWatch watch(waiting.poller(), signals_, [this](int signal) { note(signal); });
    const auto work = [&] {
      options_.step->begin("wait_for_log");
      waiting.work(kStandbyLook);
    };
    for (;;) {
      if (next_try_ > clock_.now()) {
        if (auto let_in = let_in_to(waiting); !let_in) return let_in.error();
        while (clock_.now() < next_try_ && !last_signal_) work();
      }
      if (last_signal_) return Problem{"a signal came"};
      // An engine that is away keeps a caller waiting.
      auto attempt = std::async(std::launch::async, [&] {
        auto opened =
            open_shared_journal(context_.config, files_, clock_, context_.log, options_.own_ports);
        waiting.poller().wake();
        return opened;
      });
      while (attempt.wait_for(0s) != std::future_status::ready) work();
      Opened opened = attempt.get();
      if (opened || !opened.error().is_passing) return opened;
      note_unreachable(opened.error());
    }
  }

  Outcome<Done> let_in_to(WaitingConnections& waiting) {
    if (!options_.relays() || waiting.is_open()) return Done{};
    auto sockets = duplicate(sockets_);
    if (!sockets) return sockets.error();
    Outcome<Done> opened = Done{};
    if (sockets->beanstalk) opened = waiting.open("beanstalk", std::move(*sockets->beanstalk));
    if (opened && sockets->faktory) opened = waiting.open("faktory", std::move(*sockets->faktory));
    if (opened && sockets->web) opened = waiting.open_web(std::move(*sockets->web));
    return opened;
  }

  /// While there is no server.
  void note(int signal) {
    if (signal == SIGTERM || signal == SIGINT) {
      context_.manager.notify_stopping();
      last_signal_ = signal;
    } else if (std::find(put_off_.begin(), put_off_.end(), signal) == put_off_.end()) {
      put_off_.push_back(signal);
    }
  }

  void note_unreachable(const Problem& problem) {
    next_try_ = clock_.now() + kLogRetry;
    if (!unreachable_.admits(clock_.now())) return;
    context_.log.event("log_unreachable", {{"log", engines::shown_url(context_.config.log)},
                                           {"problem", one_line(problem.text, kProblemBytesMax)}});
  }

  static Outcome<Server::Sockets> duplicate(const Server::Sockets& sockets) {
    Server::Sockets same;
    for (const auto socket : kSockets) {
      if (!(sockets.*socket)) continue;
      auto duplicate = (sockets.*socket)->duplicate();
      if (!duplicate) return duplicate.error();
      (same.*socket).emplace(std::move(*duplicate));
    }
    return same;
  }

  void refuse_clients() {
    for (const auto socket : kSockets) {
      if (sockets_.*socket) (sockets_.*socket)->refuse_clients();
    }
  }

  /// Between two tries to reach an engine that is away, and between two lines that tell of it.
  static constexpr Duration kLogRetry = 1s;
  static constexpr Duration kUnreachableLogInterval = 60s;

  ServeContext context_;
  Server::Options options_;  ///< of the next server
  Server::Sockets sockets_;  ///< each server has duplicates of them
  journal::PosixFileSystem files_;
  SystemClock clock_;
  Signals& signals_;
  std::vector<int> put_off_;  ///< signals for the next server
  std::optional<int> last_signal_;
  Time next_try_{};  ///< to reach the engine
  LogLimit unreachable_{kUnreachableLogInterval};
  bool has_started_ = false;
};

Result<Ended, StartFailure> run_with_shared_log(Start start) {
  if (auto checked = check_directory(start.context); !checked) {
    return failure(Step::kOpenJournal, checked.error());
  }
  note_exposure(start.context.config, start.context.log);
  return SharedRun(std::move(start)).run();
}

}  // namespace

Outcome<Done> check_configuration(const Config& config, const Log& log) {
  log_ignored_keys(config, log);
  const Outcome<Server::Secrets> secrets = read_secrets(config, log, ConfigFile::kAny);
  return secrets ? Outcome<Done>(Done{}) : secrets.error();
}

Result<Ended, StartFailure> serve(const Config& config, const Log& log,
                                  const Starter& starter) try {
  ignore_stray_signals();
  // Before the pipes of signals, which `share_descriptors` allows for.
  const std::uint64_t open_already = open_descriptors();
  Signals signals(SignalDuties::waiting_numbers(config));
  LoopStep step;
  const StateReport report(signals, step, log);
  log_ignored_keys(config, log);
  // Before anything else is opened.
  const auto connections =
      share_descriptors({.limit = raise_descriptor_limit(),
                         .open_already = open_already,
                         .has_journal = !config.is_volatile,
                         .has_web = config.web.has_value(),
                         .web_connections_max = kWebConnectionsMax,
                         .io_threads = io_threads_on(machine_cores(), config)});
  if (!connections) return failure(Step::kOther, connections.error());
  forbid_core_dumps();
  const Outcome<Server::Secrets> secrets = read_secrets(config, log, ConfigFile::kAny);
  if (!secrets) return failure(Step::kConfigure, secrets.error());
  Server::Options options{.config = config, .secrets = *secrets};
  set_segment_bytes(options, config.segment_bytes);
  options.step = &step;
  options.clients_max = connections->clients;
  options.web_connections_max = connections->web;
  options.random_seed = random_number();
  options.lock_secret = {.low = random_number(), .high = random_number()};
  if (config.personality.announcement == Personality::Announcement::kBeanstalkd) {
    options.on_visit = visit_printer();
  }
  // The order matters: ports below 1024 need root, and the journal must belong to the user.
  auto sockets = open_ports(config, options, log);
  if (!sockets) return failure(Step::kListen, sockets.error());
  if (!config.log.empty()) options.own_ports = own_ports_text(*sockets, config);
  if (auto given_up = give_up_rights(config, *sockets); !given_up) return given_up.error();
  ServiceManager manager(config.handover, process_id(), log);
  Start start{{config, starter, log, manager}, options, std::move(*sockets), signals};
  if (!config.log.empty()) return run_with_shared_log(std::move(start));
  if (!config.is_volatile) return run_with_file_journal(std::move(start));
  return run(std::move(start), std::make_unique<journal::VolatileJournal>(), nullptr);
} catch (const std::system_error& error) {
  return failure(Step::kOther, no_thread(error));
}

}  // namespace millrace::server
