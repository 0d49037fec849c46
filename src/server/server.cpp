#include "server/server.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/text.hpp"
#include "beanstalk/argument.hpp"
#include "faktory/json/text.hpp"
#include "http/kit/text.hpp"
#include "server/options/tables/retry_options.hpp"
#include "server/options/throttle_options.hpp"
#include "server/process/process.hpp"
#include "server/role/replay.hpp"
#include "server/web/web_service.hpp"

namespace millrace::server {
namespace {

/// A replay that takes longer says this often how far it is.
constexpr Duration kReplayLogInterval = 1s;

/// The names of this server for browsers: those that were given, and its own.
std::vector<std::string> web_hosts(const Config& config, const HostFacts& host) {
  std::vector<std::string> names = config.web_hosts;
  names.push_back(lower_case(host.hostname));
  if (config.web) names.push_back(lower_case(config.web->host));
  return names;
}

FinishedJobs::Limits finished_limits(const Config& config) {
  FinishedJobs::Limits limits = config.finished;
  limits.is_durable = config.is_finished_durable;
  return limits;
}

WorkerRules worker_rules(const Config& config) {
  return {.timeout = config.worker_timeout,
          .poison_after = config.poison_after,
          .extends = config.extends_while_alive};
}

std::vector<http::TrafficFacts::Io> io_facts(const Net& net) {
  std::vector<http::TrafficFacts::Io> all;
  for (const IoThread::Figures& thread : net.figures()) {
    all.push_back({.thread = thread.name,
                   .connections = thread.connections,
                   .rounds = thread.rounds,
                   .received_bytes = thread.received_bytes,
                   .sent_bytes = thread.sent_bytes,
                   .processor_time = thread.processor_time});
  }
  return all;
}

/// By those who fetch such jobs. See `http::Site::is_queue_name`.
bool can_be_named(std::string_view queue, JobKind kind) {
  const bool is_of_faktory = faktory::is_queue_name(queue) && queue.size() <= kQueueNameBytesMax;
  return is_of_faktory || (kind == JobKind::kBytes && beanstalk::is_tube_name(queue));
}

beanstalk::Settings beanstalk_settings(const Server::Options& options, const Journal& journal) {
  const HostFacts facts = host_facts();
  beanstalk::Settings settings;
  settings.binlog_bytes_max = options.binlog_bytes_max;
  settings.instance_id = random_instance_id();
  settings.hostname = facts.hostname;
  settings.os = facts.os;
  settings.platform = facts.platform;
  settings.pid = process_id();
  settings.usage = process_usage;
  if (!options.config.is_volatile) {
    settings.binlog = [&journal]() -> beanstalk::Binlog {
      const Journal::Extent log = journal.extent();
      return {.oldest = log.begin, .current = log.newest_begin};
    };
  }
  return settings;
}

faktory::Settings faktory_settings(const Server::Options& options, Background& background) {
  faktory::Settings settings;
  settings.line_bytes_max = options.line_bytes_max;
  settings.random = random_number;
  settings.used_memory_mb = used_memory_mb;
  settings.background = &background;
  return settings;
}

using ReportTaker = std::function<void(http::NodeReport report)>;
using PortSocket = std::optional<BoundSocket>;

Problem at_port(const std::string& name, const Problem& problem) {
  return Problem{"the " + name + " port: " + problem.text};
}

Outcome<PortSocket> bind_port(const char* name, const std::optional<Address>& address,
                              PortSocket given, const Log& log) {
  if (given || !address) return Outcome<PortSocket>(std::move(given));
  auto bound = BoundSocket::bind(*address, log);
  if (!bound) return at_port(name, bound.error());
  return PortSocket(std::move(*bound));
}

Outcome<std::vector<BoundSocket>> bind_listeners(const UsersFile& users, const Log& log) {
  std::vector<BoundSocket> sockets;
  for (const UserListener& listener : users.listeners) {
    if (!listener.address) continue;
    auto bound = BoundSocket::bind(*listener.address, log);
    if (!bound) return at_port("beanstalk", bound.error());
    sockets.push_back(std::move(*bound));
  }
  return sockets;
}

/// `added ana; changed bob, eve`. Empty: nobody has changed.
std::string difference(const access::Users& before, const access::Users& after) {
  std::string added, changed, removed;
  const auto add = [](std::string& list, const char* verb, const std::string& name) {
    list += (list.empty() ? verb : ", ") + name;
  };
  for (const access::User& user : after.all()) {
    const access::User* const same = before.find(user.name);
    if (same == nullptr) add(added, "added ", user.name);
    if (same != nullptr && *same != user) add(changed, "changed ", user.name);
  }
  for (const access::User& user : before.all()) {
    if (after.find(user.name) == nullptr) add(removed, "removed ", user.name);
  }
  std::string all;
  for (const std::string& list : {added, changed, removed}) {
    if (!list.empty()) all += (all.empty() ? "" : "; ") + list;
  }
  return all;
}

bool is_open_to_others(const PortSocket& socket) {
  return socket && !socket->is_local();
}

/// `open`: all that would be open without a password then.
Problem refuse_to_open(const std::vector<std::string>& refused,
                       const std::vector<std::string>& open) {
  std::string named;
  for (const std::string& port : refused) {
    named += (named.empty() ? "the " : ", the ") + port + " port";
  }
  // A listener of the users file is there with its address: `beanstalk (ADDRESS)`.
  const auto is_beanstalk = [](const std::string& port) { return port.starts_with("beanstalk"); };
  const bool can_have_password = !std::ranges::all_of(refused, is_beanstalk);
  std::vector<std::string> names;
  for (const std::string& port : open) {
    const std::string name = port.substr(0, port.find(' '));
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return Problem{"refusing to open " + named +
                 ": other machines could connect without a password; " +
                 (can_have_password ? "set one for faktory and web (FAKTORY_PASSWORD), or " : "") +
                 "allow it with --insecure=" + join(names)};
}

}  // namespace

Server::Server(Options options, std::unique_ptr<Journal> journal, Clock& clock, const Log& log,
               SharedJournal* shared)
    : options_(std::move(options)),
      journal_(std::move(journal)),
      shared_(shared),
      clock_(clock),
      log_(log),
      broker_(ledger_, work_units_,
              {.random_seed = options_.random_seed,
               .lock_secret = options_.lock_secret,
               .dead_jobs_max = options_.config.dead_jobs_max,
               .pushes = options_.config.pushes,
               .finished = finished_limits(options_.config)}),
      beanstalk_(broker_, work_units_, beanstalk_settings(options_, *journal_), clock.now()),
      faktory_(broker_, work_units_, faktory_settings(options_, background_), clock.now()),
      net_(poller_, log, io_threads_on(machine_cores(), options_.config)),
      loop_({.broker = broker_,
             .ledger = ledger_,
             .journal = *journal_,
             .clock = clock,
             .input = net_,
             .duties = *this,
             .step = options_.step}),
      stall_watch_(
          {.ticker = loop_.ticker, .commits = loop_.commits, .journal = *journal_, .log = log}),
      cron_({.ticker = loop_.ticker,
             .broker = broker_,
             .log = log,
             .push =
                 [this](std::string_view json, Time now, Time planned) {
                   return faktory_.push(json, now, access::Caller::everybody(), planned);
                 },
             .random = random_number}),
      statsd_({.ticker = loop_.ticker,
               .broker = broker_,
               .format = work_units_,
               .log = log,
               .connections = [this] { return connections_.count(); }}),
      audit_file_(log),
      clock_watch_({.ticker = loop_.ticker,
                    .clock = clock,
                    .broker = broker_,
                    .log = log,
                    .on_step = [this] { cron_.look_again(); }}),
      notices_(log, ledger_, *journal_),
      connections_(
          {.net = net_,
           .turn = loop_.turn,
           .ticker = loop_.ticker,
           .clock = clock,
           .log = log,
           .unsent_bytes_max = options_.unsent_bytes_max,
           .kept_input_bytes_max = options_.kept_input_bytes_max,
           .left_behind_bytes = [this] { return faktory_.left_behind_bytes(); },
           .is_fetch_strict = options_.config.is_fetch_strict || !options_.config.log.empty(),
           .on_removed =
               [this](int descriptor) {
                 if (options_.on_visit) options_.on_visit(Visit::kOver, descriptor);
               }}),
      instance_(random_number()),
      report_key_(shared == nullptr ? std::string_view() : web_password()),
      node_reporter_(poller_, [this](const SocketName& leader) {
        return listening_.may_reach("web", leader);
      }) {
  broker_.watch_losses(&notices_);
  put_in_force();
  if (options_.config.memory_bytes_max == 0) return;
  if (options_.config.is_volatile) {
    ledger_.memory().limit(options_.config.memory_bytes_max);
  } else {
    ledger_.memory().limit(*journal_, options_.config.memory_bytes_max);
  }
}

Server::~Server() {
  broker_.watch_losses(nullptr);
  broker_.activity().watch({});
  loop_.ticker.plan(*this, kNever);
}

// ---- starting -----------------------------------------------------------------------------------

Outcome<Server::Sockets> Server::bind(const Options& options, Sockets given, const Log& log) {
  auto beanstalk =
      bind_port("beanstalk", options.config.beanstalk, std::move(given.beanstalk), log);
  if (!beanstalk) return beanstalk.error();
  auto faktory = bind_port("faktory", options.config.faktory, std::move(given.faktory), log);
  if (!faktory) return faktory.error();
  auto web = bind_port("web", options.config.web, std::move(given.web), log);
  if (!web) return web.error();
  const UsersFile& users = options.secrets.users;
  if (auto checked = check_listeners(users, options.config, beanstalk->has_value()); !checked) {
    return checked.error();
  }
  auto of_users = bind_listeners(users, log);
  if (!of_users) return of_users.error();
  Sockets sockets{std::move(*beanstalk), std::move(*faktory), std::move(*web),
                  std::move(*of_users)};
  struct Port {
    const char* name;
    const PortSocket& socket;
    bool has_password;
    bool may_be_open;
  };
  const OpenPorts& insecure = options.config.insecure;
  const bool has_password = users.users || !options.secrets.password.empty();
  std::vector<std::string> refused;
  std::vector<std::string> open;
  for (const auto& port :
       {Port{"beanstalk", sockets.beanstalk, false, insecure.beanstalk},
        Port{"faktory", sockets.faktory, has_password, insecure.faktory},
        Port{"web", sockets.web, has_password || !options.config.web_password.empty(),
             insecure.web}}) {
    if (!is_open_to_others(port.socket) || port.has_password) continue;
    if (!port.may_be_open) refused.emplace_back(port.name);
    open.emplace_back(port.name);
  }
  for (const BoundSocket& socket : sockets.of_users) {
    if (socket.is_local()) continue;
    const std::string name = "beanstalk (" + socket.address().text() + ")";
    if (!insecure.beanstalk) refused.push_back(name);
    open.push_back(name);
  }
  if (!refused.empty()) return refuse_to_open(refused, open);
  if (!open.empty()) log.routine("open_without_password", {{"ports", join(open)}});
  return sockets;
}

Outcome<Done> Server::open() {
  auto sockets = bind(options_, {}, log_);
  if (!sockets) return sockets.error();
  return open(std::move(*sockets));
}

Outcome<Done> Server::open_audit_log() {
  if (options_.config.audit_log.empty()) return Done{};
  if (auto opened = audit_file_.open(options_.config.audit_log); !opened) {
    return Problem{"--audit-log: " + opened.error().text};
  }
  broker_.activity().watch([this](Activity::Number number, const Change& change) {
    audit_file_.write(http::audit_line(number, change, broker_.view().wall_clock()));
  });
  return Done{};
}

Outcome<Done> Server::open(Sockets sockets) {
  if (auto opened = open_audit_log(); !opened) return opened;
  const auto open_beanstalk_at = [this](std::optional<Address> at) {
    return [this, at = std::move(at)](Listener::Accepted& accepted) {
      return open_beanstalk(at, accepted);
    };
  };
  if (sockets.beanstalk) {
    add_gate("beanstalk", std::move(*sockets.beanstalk), open_beanstalk_at(std::nullopt));
  }
  auto of_users = sockets.of_users.begin();
  for (const UserListener& listener : options_.secrets.users.listeners) {
    if (!listener.address || of_users == sockets.of_users.end()) continue;
    add_gate("beanstalk", std::move(*of_users++), open_beanstalk_at(listener.address));
  }
  // A worker whose machine is gone closes nothing.
  if (sockets.faktory) sockets.faktory->probe_idle_peers();
  if (sockets.faktory) background_.start();
  if (sockets.faktory) {
    add_gate("faktory", std::move(*sockets.faktory), [this](Listener::Accepted& accepted) {
      return faktory_.open(std::move(accepted.peer));
    });
  }
  if (sockets.web) add_web(std::move(*sockets.web));
  if (auto replayed = replay(); !replayed) return replayed;
  role_.has_replayed();
  if (shared_ != nullptr) {
    for (const Gate& gate : gates_) listening_.add(gate.name, gate.listener->descriptor());
    if (web_) listening_.add("web", web_->descriptor());
    if (!options_.relays()) return Done{};
    return open_relay();
  }
  // Only this process can append to the log, so it stands by for no time.
  return lead(journal_->epoch());
}

Outcome<Done> Server::lead(Epoch epoch) {
  begin_time();
  broker_.admin().set_worker_rules(worker_rules(options_.config), clock_.now());
  set_throttles();
  role_.lead(epoch);
  loop_.commits.lead(epoch);
  cron_.begin();
  statsd_.begin();
  if (auto listening = listen(); !listening) return listening;
  if (relay_) close_relay();
  return Done{};
}

/// Without users, all may come.
std::unique_ptr<Session> Server::open_beanstalk(const std::optional<Address>& at,
                                                const Listener::Accepted& accepted) {
  const UsersFile& file = options_.secrets.users;
  if (!file.users) return beanstalk_.open(access::Caller::everybody());
  const UserListener* const listener = file.listener_at(at);
  if (listener == nullptr) return nullptr;
  std::string name = listener->user;
  if (!listener->uids.empty()) {
    const auto uid = user_of_peer(accepted.descriptor);
    const auto found = listener->uids.find(uid.value_or(0));
    if (!uid || found == listener->uids.end()) return nullptr;
    name = found->second;
  }
  const access::User* const user = file.users->find(name);
  return user == nullptr ? nullptr
                         : beanstalk_.open(access::Caller(file.users, *user), accepted.peer);
}

void Server::add_gate(const char* name, BoundSocket socket, OpenSession open_session) {
  const Listener::Parts parts{
      .poller = poller_, .ticker = loop_.ticker, .clock = clock_, .log = log_, .has_room = [this] {
        return has_room();
      }};
  gates_.push_back({.name = name,
                    .open_session = std::move(open_session),
                    .listener = std::make_unique<Listener>(std::move(socket), parts)});
}

void Server::add_web(BoundSocket socket) {
  const HostFacts host = host_facts();
  web_ = std::make_unique<WebService>(
      WebService::Parts{.poller = poller_,
                        .broker = broker_,
                        .cron = cron_,
                        .format = work_units_,
                        .turn = loop_.turn,
                        .ticker = loop_.ticker,
                        .clock = clock_,
                        .log = log_},
      WebService::Options{
          .guard = {.password = web_password(),
                    .users = options_.secrets.users.users,
                    .is_read_only = options_.config.is_web_read_only,
                    .checks_host =
                        options_.config.personality.checks_host_for_others || socket.is_local(),
                    .hosts = web_hosts(options_.config, host),
                    .hosts_option = options_.config.personality.web_hosts_option},
          .facts = {.version = MILLRACE_VERSION,
                    .hostname = host.hostname,
                    .pid = process_id(),
                    .instance = random_instance_id(),
                    .started_at = clock_.now(),
                    .name = options_.config.name.text,
                    .name_color = options_.config.name.color,
                    .options = shown_options(options_.config),
                    .is_read_only = options_.config.is_web_read_only},
          .data_directory = options_.config.is_volatile ? "" : options_.config.data,
          // A job may be pushed over the API that may be pushed over FWP.
          .job_bytes_max = std::max(options_.job_bytes_max(), options_.line_bytes_max),
          .connections_max = options_.web_connections_max,
          .tls = options_.secrets.tls,
          .alerts = options_.secrets.alerts,
          .traffic = [this] { return traffic(); },
          .cluster = [this] { return cluster(); },
          .report_key = report_key_,
          .take_report = shared_ == nullptr
                             ? ReportTaker{}
                             : [this](auto report) { take_report(std::move(report)); },
          .refuse_report =
              [this](const std::string& claimed, const std::string& reason) {
                notices_.report_refused(claimed, reason, clock_.now());
              },
          .push = [this](std::string_view json, Time now,
                         const access::Caller& caller) { return faktory_.push(json, now, caller); },
          .info = [this](Time now,
                         QueueSizes sizes) { return faktory_.info(now, std::move(sizes)); },
          .push_in_parts =
              [this](auto caller) { return faktory_.push_in_parts(std::move(caller)); },
          .is_queue_name = can_be_named},
      std::move(socket));
}

http::TrafficFacts Server::traffic() const {
  const std::uint64_t faktory = faktory_.connection_count();
  const Journal::Extent log = journal_->extent();
  return {.beanstalk_connections = beanstalk_.connection_count(),
          .faktory_connections = faktory,
          .undurable_bytes = loop_.commits.undurable_bytes(),
          .segments_removed = loop_.compactor.removed_segments(),
          .log_bytes = log.end - log.begin,
          .commits = loop_.commits.waits(),
          .statsd_left_out = statsd_.left_out(),
          .log_lines_lost = log_.lines_lost(),
          .audit_lines_lost = audit_file_.lost(),
          .clock_steps = clock_watch_.steps(),
          .is_stalled = stall_watch_.is_stalled(),
          .is_stopping = is_stopping(),
          .is_draining = beanstalk_.is_draining(),
          .leadership = leadership(),
          .io = io_facts(net_)};
}

std::uint64_t Server::job_count() const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < kJobStateCount; ++i) {
    count += broker_.view().orders().count(static_cast<JobState>(i));
  }
  return count;
}

Outcome<Done> Server::replay() {
  LogLimit progress(kReplayLogInterval);
  const Time started_at = clock_.now();
  (void)progress.admits(started_at);
  const Journal::Extent log = journal_->extent();
  const Outcome<std::uint64_t> bytes = server::replay(*journal_, ledger_, [&](Lsn at) {
    begin_step("replay");
    const Time now = clock_.now();
    if (options_.should_continue && !options_.should_continue()) return false;
    if (!progress.admits(now)) return true;
    log_.routine("replaying",
                 {{"percent", (at - log.begin) * 100 / std::max<Lsn>(log.end - log.begin, 1)},
                  {"jobs", job_count()},
                  {"seconds", seconds_text(now - started_at)}});
    return true;
  });
  if (!bytes) return bytes.error();
  if (*bytes > 0) {
    log_.routine("replayed", {{"bytes", *bytes},
                              {"jobs", job_count()},
                              {"seconds", seconds_text(clock_.now() - started_at)}});
  }
  return Done{};
}

/// A log that was written before the wall clock was set back tells of times to come. Without going
/// on from there, its delays and reservations would last longer by as much.
void Server::begin_time() {
  const Time before = clock_.now();
  const Time told = shared_ != nullptr ? shared_->latest_time() : Time{};
  clock_watch_.begin(std::max(ledger_.latest_time(), told));
  const Duration jump = clock_.now() - before;
  // Uptimes are told in that time.
  beanstalk_.shift_start(jump);
  faktory_.shift_start(jump);
  if (web_) web_->shift_start(jump);
}

void Server::set_throttles() {
  broker_.admin().set_throttle_rules(throttle_rules(options_.config.throttles), clock_.now());
  // Clients that wait may be served.
  loop_.turn.request();
}

Outcome<Done> Server::listen_at_gates() {
  for (Gate& gate : gates_) {
    if (gate.is_listening) continue;
    auto listening = gate.listener->listen(
        [this, &gate](Listener::Accepted accepted) { let_in(gate, std::move(accepted)); });
    if (!listening) return at_port(gate.name, listening.error());
    gate.is_listening = true;
  }
  return Done{};
}

Outcome<Done> Server::listen() {
  if (auto listening = listen_at_gates(); !listening) return listening;
  if (web_) {
    if (auto listening = web_->listen(); !listening) return at_port("web", listening.error());
  }
  // What the log left due is done before the first client asks.
  loop_.turn.request();
  return Done{};
}

std::vector<Server::Port> Server::ports() const {
  std::vector<Port> ports;
  for (const Gate& gate : gates_) {
    ports.push_back({gate.name, gate.listener->address(), gate.listener->descriptor()});
  }
  if (web_) ports.push_back({"web", web_->address(), -1});
  return ports;
}

// ---- serving ------------------------------------------------------------------------------------

void Server::run() {
  if (shared_ != nullptr && !stand_by()) return;
  while (stage_ != Stage::kEnded) loop_.turn.run();
  begin_step("stop");
  if (loop_.commits.leads()) {
    if (shared_ != nullptr) shared_->release();
    // The turn in which the last client left has appended what that changed.
    CHECK(!ledger_.has_batch());
    journal_->sync();
  }
  // A log that is elsewhere may not have answered.
  const bool is_stored = shared_ == nullptr || loop_.commits.undurable_bytes() == 0;
  const bool is_all_durable = loop_.commits.leads() && is_stored;
  if (web_) web_->finish(is_all_durable);
}

Compactor::Limits Server::set_limits(Compactor::Limits asked, Time now) {
  asked.admission = look_for_room(asked.admission, now);
  connections_.limit_memory();
  return asked;
}

void Server::work(Time now) {
  // How long a log that is elsewhere takes is told by `look_at_lease`.
  if (shared_ == nullptr) stall_watch_.work(now);
  if (web_) web_->work(now);
  if (shared_ != nullptr && !relay_) notices_.shared_log(shared_->problem(), now);
  notices_.locks_without_time(broker_.view().tally().locks_without_time);
  notices_.removed_segments(loop_.compactor.removed_segments(), now);
  connections_.remove_closed();
  if (is_stopping() && connections_.count() == 0) enter(Stage::kEnded);
}

void Server::let_go(Lsn durable) {
  const Time until = journal_->may_answer_until();
  net_.let_go(durable, until == kNever ? Duration::max() : until - clock_.now());
  if (web_) web_->let_go(durable);
}

/// What there is no room for is refused.
Admission Server::look_for_room(Admission admission, Time now) {
  const bool is_memory_full = ledger_.memory().is_full(broker_.admission());
  notices_.disk(is_full(*journal_));
  notices_.memory(is_memory_full);
  notices_.admission(broker_.admission(), admission, now);
  return std::max(admission, is_memory_full ? Admission::kNoJobs : Admission::kEverything);
}

void Server::admit(const Gate& gate, Listener::Accepted accepted) {
  CHECK(role_.admits_clients());
  std::unique_ptr<Session> session = gate.open_session(accepted);
  if (!session) {
    notices_.stranger(gate.name, accepted.descriptor, clock_.now());
    ::close(accepted.descriptor);
    return;
  }
  const bool is_encrypted = options_.secrets.tls && !accepted.is_unix;
  auto tls = is_encrypted ? std::make_unique<TlsStream>(*options_.secrets.tls) : nullptr;
  if (options_.on_visit) options_.on_visit(Visit::kBegun, accepted.descriptor);
  connections_.add(accepted.descriptor, std::move(tls), std::move(session));
}

void Server::put_in_force(bool has_other_listeners) {
  const Config& config = options_.config;
  cron_.set(config.cron);
  statsd_.set(config.statsd);
  broker_.admin().set_retry_delays(retry_delays(config.retries, work_units_));
  faktory_.set_password(options_.secrets.password);
  faktory_.set_users(options_.secrets.users.users);
  beanstalk_.set_users(options_.secrets.users.users, has_other_listeners);
  faktory_.set_connections_max(config.connections_max);
  faktory_.set_description(config.description);
  beanstalk_.set_job_bytes_max(options_.job_bytes_max());
}

void Server::note_users(const access::Users& before, const access::Users& after) {
  std::string details = difference(before, after);
  if (details.empty() || role_.name() != Role::Name::kServing) return;
  broker_.activity().note({.at = clock_.now(),
                           .protocol = "server",
                           .from = {},
                           .client = {},
                           .action = "users/reload",
                           .target = {},
                           .details = std::move(details)});
}

std::vector<std::string> Server::reload(const Config& wanted, const Secrets& secrets) {
  const std::string web_password_before = web_password();
  const std::vector<ThrottleRule> throttles_before = options_.config.throttles;
  std::vector<std::string> waiting = server::reload(options_.config, wanted);
  const Config& config = options_.config;
  if (!secrets.password.empty()) options_.secrets.password = secrets.password;
  // Shared with the options that they come from, as before.
  if (secrets.tls && options_.secrets.tls) options_.secrets.tls = secrets.tls;
  if (shared_ != nullptr && web_password() != web_password_before) {
    report_key_ = ReportKey(web_password());
  }
  options_.secrets.alerts = secrets.alerts;
  UsersFile& users = options_.secrets.users;
  bool has_other_listeners = false;
  if (secrets.users.users && users.users) {
    has_other_listeners = secrets.users.listeners != users.listeners;
    const bool has_other_ports =
        std::ranges::any_of(secrets.users.listeners,
                            [&](const auto& each) { return !users.listener_at(each.address); });
    if (has_other_ports) waiting.push_back("users");
    note_users(*users.users, *secrets.users.users);
    users = secrets.users;
  }
  put_in_force(has_other_listeners);
  const bool is_serving = role_.name() == Role::Name::kServing;
  if (is_serving && config.throttles != throttles_before) set_throttles();
  if (!web_) return waiting;
  web_->set_alerts(options_.secrets.alerts);
  web_->show_options(shown_options(config));
  web_->reload(web_password(), options_.secrets.users.users, report_key_, options_.secrets.tls);
  return waiting;
}

// ---- stopping -----------------------------------------------------------------------------------

void Server::stop() {
  loop_.turn.request();
  if (is_stopping()) return drop_connections();
  log_.routine("stopping", {{"connections", connections_.count()}});
  if (role_.name() == Role::Name::kServing) broker_.activity().count_refused();
  role_.stop();
  cron_.stop();
  // The web port says so until the end, with 503.
  for (Gate& gate : gates_) gate.listener->close();
  drain();
  // Another server waits to take over.
  if (shared_ != nullptr) return hand_over();
  loop_.ticker.plan(*this, clock_.now() + kStopGrace);
}

void Server::enter(Stage stage) {
  CHECK(is_stopping() && stage >= stage_);
  stage_ = stage;
}

void Server::drain() {
  beanstalk_.drain();
  faktory_.drain();
}

/// What is planned is the next stage of the end.
void Server::expire(Time) {
  if (stage_ == Stage::kRefusingWork) return finish_connections();
  drop_connections();
}

void Server::finish_connections() {
  enter(Stage::kFinishing);
  connections_.stop();
  loop_.ticker.plan(*this, clock_.now() + kStopMax - kStopGrace);
}

/// The state has records that the log will never have, so this server ends. Another one of the
/// process reads the log anew.
void Server::stand_down() {
  log_.event("deposed", {{"connections", connections_.count()}});
  cron_.stop();
  statsd_.stop();
  must_start_over_ = !is_stopping();
  if (!is_stopping()) {
    role_.stop();
    for (Gate& gate : gates_) gate.listener->close();
  }
  // There is no further turn to do it in.
  connections_.end();
  enter(Stage::kEnded);
}

/// Clients that were answered by then connect to the next leader. The others learn nothing.
void Server::hand_over() {
  enter(Stage::kFinishing);
  connections_.stop();
  loop_.ticker.plan(*this, clock_.now() + kHandoverMax);
}

void Server::drop_connections() {
  log_.routine("clients_dropped", {{"connections", connections_.count()}});
  connections_.drop_all();
}

}  // namespace millrace::server
