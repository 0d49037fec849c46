#include "server/server.hpp"

#include <asio/co_spawn.hpp>
#include <exception>
#include <utility>

#include "server/process.hpp"

namespace millrace::server {
namespace {

/// A replay that takes longer says this often how far it is.
constexpr Duration kReplayLogInterval = 2s;

beanstalk::Settings beanstalk_settings(const Server::Options& options) {
  const HostFacts facts = host_facts();
  beanstalk::Settings settings;
  settings.job_bytes_max = options.job_bytes_max;
  settings.instance_id = random_instance_id();
  settings.hostname = facts.hostname;
  settings.os = facts.os;
  settings.platform = facts.platform;
  settings.pid = process_id();
  settings.usage = process_usage;
  return settings;
}

faktory::Settings faktory_settings(const Server::Options& options) {
  faktory::Settings settings;
  settings.password = options.password;
  settings.line_bytes_max = options.line_bytes_max;
  settings.random = random_number;
  settings.used_memory_mb = used_memory_mb;
  return settings;
}

/// The text of an exception that ended a coroutine, if one did.
std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

}  // namespace

Server::Server(Options options, std::unique_ptr<Journal> journal, Clock& clock, const Log& log)
    : options_(std::move(options)),
      journal_(std::move(journal)),
      clock_(clock),
      log_(log),
      loop_(1),
      broker_(work_units_, {.random_seed = options_.random_seed}),
      beanstalk_(broker_, work_units_, beanstalk_settings(options_), clock.now()),
      faktory_(broker_, work_units_, faktory_settings(options_), clock.now()),
      ticker_(loop_, broker_, clock, [this] { commits_.schedule(); }),
      commits_({.loop = loop_, .broker = broker_, .journal = *journal_, .clock = clock},
               [this](Time now) { ticker_.work(now); }),
      surroundings_{.commits = commits_,
                    .ticker = ticker_,
                    .clock = clock,
                    .log = log,
                    .receive_buffer = std::vector<char>(kReceiveBytes)},
      stop_timer_(loop_) {}

Server::~Server() = default;

// ---- starting -----------------------------------------------------------------------------------

Outcome<Done> Server::open() {
  if (auto bound = bind_gates(); !bound) return bound;
  if (auto replayed = replay(); !replayed) return replayed;
  return listen();
}

Outcome<Done> Server::bind_gates() {
  auto bound = bind(options_.beanstalk, {.door = "beanstalk",
                                         .asks_password = false,
                                         .open_session = [this] { return beanstalk_.open(); }});
  if (!bound) return bound;
  return bind(options_.faktory, {.door = "faktory",
                                 .asks_password = !options_.password.empty(),
                                 .open_session = [this] { return faktory_.open(); }});
}

Outcome<Done> Server::bind(const std::optional<Address>& address, Gate gate) {
  if (!address) return Done{};
  auto listener = Listener::bind(*address, {.loop = loop_, .clock = clock_, .log = log_});
  if (!listener) return listener.error();
  gate.listener = std::move(*listener);
  if (!gate.listener->is_local() && !gate.asks_password && !options_.is_insecure) {
    return Problem{"refusing to open the " + std::string(gate.door) + " port on " +
                   gate.listener->address().text() +
                   ", since other machines could use it without a password; --insecure allows it"};
  }
  gates_.push_back(std::move(gate));
  return Done{};
}

Outcome<Done> Server::replay() {
  LogLimit progress(kReplayLogInterval);
  const Time started_at = clock_.now();
  (void)progress.admits(started_at);
  std::uint64_t bytes = 0;
  const Outcome<Done> replayed =
      journal_->replay([&](std::string_view batch, Lsn) -> Outcome<Done> {
        bytes += batch.size();
        if (progress.admits(clock_.now())) log_.event("replaying", {{"bytes", bytes}});
        return broker_.replay(batch);
      });
  if (!replayed) return replayed;
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - started_at);
  if (bytes > 0) log_.event("replayed", {{"bytes", bytes}, {"milliseconds", took.count()}});
  return Done{};
}

Outcome<Done> Server::listen() {
  for (Gate& gate : gates_) {
    if (auto listening = gate.listener->listen(); !listening) return listening;
  }
  for (Gate& gate : gates_) {
    Task<void> accepting = gate.listener->accept_loop(
        [this, &gate](Socket socket) { admit(gate, std::move(socket)); });
    asio::co_spawn(loop_, std::move(accepting), [](const std::exception_ptr& failure) {
      // Without its accept loop the server is none: let `run` end with it.
      if (failure) std::rethrow_exception(failure);
    });
  }
  // What the log left due is done before the first client asks.
  commits_.schedule();
  return Done{};
}

std::vector<Server::Port> Server::ports() const {
  std::vector<Port> ports;
  for (const Gate& gate : gates_) ports.push_back({gate.door, gate.listener->address()});
  return ports;
}

// ---- serving ------------------------------------------------------------------------------------

void Server::run() {
  loop_.run();
  // The last connections changed something when they left.
  commits_.turn();
  journal_->sync();
}

void Server::admit(const Gate& gate, Socket socket) {
  if (is_stopping_) return;
  connections_.emplace_back(std::move(socket), gate.open_session(), surroundings_);
  const auto connection = std::prev(connections_.end());
  asio::co_spawn(loop_, connection->run(), [this, connection](const std::exception_ptr& failure) {
    if (failure) log_.event("connection_failed", {{"error", text_of(failure)}});
    connections_.erase(connection);
    if (is_stopping_ && connections_.empty()) end();
  });
}

// ---- stopping -----------------------------------------------------------------------------------

void Server::stop() {
  if (std::exchange(is_stopping_, true)) return drop_connections();
  log_.event("stopping", {{"connections", connections_.size()}});
  for (Gate& gate : gates_) gate.listener->close();
  drain();
  if (connections_.empty()) return end();
  stop_timer_.expires_after(kStopGrace);
  stop_timer_.async_wait([this](const asio::error_code& error) {
    if (!error) finish_connections();
  });
}

void Server::drain() {
  beanstalk_.drain();
  faktory_.drain();
}

void Server::finish_connections() {
  for (Connection& connection : connections_) connection.finish();
  stop_timer_.expires_after(kStopMax - kStopGrace);
  stop_timer_.async_wait([this](const asio::error_code& error) {
    if (!error) drop_connections();
  });
}

void Server::drop_connections() {
  log_.event("leaving_clients_behind", {{"connections", connections_.size()}});
  for (Connection& connection : connections_) connection.drop();
}

/// Nobody is connected any more. What is still posted runs, and then the loop has nothing left to
/// do but timers.
void Server::end() {
  stop_timer_.cancel();
  loop_.stop();
}

}  // namespace millrace::server
