#include "server/running_server.hpp"

#include <algorithm>
#include <cstdlib>
#include <future>

#include "journal/volatile/volatile_journal.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// After this many looks in a row at an idle server, each after a look at its sockets, nothing is
/// on its way any more.
constexpr int kRestingLooks = 8;

}  // namespace

Server::Options RunningServer::default_options() {
  Server::Options options;
  Config& config = options.config;
  config.beanstalk = Address{.host = "127.0.0.1", .port = 0};
  config.faktory = Address{.host = "127.0.0.1", .port = 0};
  config.web.reset();
  config.data.clear();
  config.worker_timeout.reset();
  config.poison_after = 0;
  // How many the tests are run with.
  const char* const io_threads = std::getenv("IO_THREADS");
  config.io_threads = io_threads == nullptr ? 0 : std::stoul(io_threads);
  return options;
}

RunningServer::RunningServer(Setup setup) {
  if (!setup.journal) setup.journal = std::make_unique<journal::VolatileJournal>();
  if (setup.is_clock_set) clock_.let_step();
  server_ = std::make_unique<Server>(setup.options, std::move(setup.journal), clock_, log_);
  const Outcome<Done> opened = server_->open();
  REQUIRE_MESSAGE(opened, opened.error().text);
  ports_ = server_->ports();
  thread_ = std::thread([this] {
    server_->run();
    has_ended_ = true;
  });
}

RunningServer::~RunningServer() {
  stop();
}

Address RunningServer::address(const std::string& name) const {
  const auto port = std::find_if(ports_.begin(), ports_.end(),
                                 [&](const Server::Port& each) { return each.name == name; });
  REQUIRE(port != ports_.end());
  return port->address;
}

void RunningServer::on_loop(const std::function<void()>& call) {
  // Shared with a server that may end before it comes to it.
  const auto done = std::make_shared<std::promise<void>>();
  server_->poller().post([&call, done] {
    call();
    done->set_value();
  });
  const std::future<void> is_done = done->get_future();
  while (is_done.wait_for(10ms) != std::future_status::ready) {
    if (has_ended_) return;
  }
}

void RunningServer::settle() {
  wait_for_sockets();
  for (int looks = 0; looks < kRestingLooks; ++looks) {
    on_loop([&] {
      if (!server_->is_at_rest()) looks = 0;
    });
  }
}

/// Those of other threads: the main loop does not know what they have.
void RunningServer::wait_for_sockets() {
  if (!has_io_threads()) return;
  std::promise<void> never;
  const std::future<void> is_over = never.get_future();
  for (int looks = 0; looks < kRestingLooks; ++looks) {
    (void)is_over.wait_for(5ms);
    on_loop([] {});
  }
}

void RunningServer::settle_turns() {
  wait_for_sockets();
  for (int looks = 0; looks < kRestingLooks; ++looks) on_loop([] {});
}

void RunningServer::advance(Duration duration) {
  settle();
  const Time end = clock_.now() + duration;
  while (clock_.now() < end) {
    on_loop([&] {
      clock_.set(std::clamp(server_->next_due(), clock_.now(), end));
      server_->wake();
    });
    settle();
  }
}

std::size_t RunningServer::connection_count() {
  std::size_t count = 0;
  on_loop([&] { count = server_->connection_count(); });
  return count;
}

void RunningServer::wait_for_connections(std::size_t count) {
  const auto deadline = std::chrono::steady_clock::now() + SocketClient::kPatience;
  while (connection_count() != count) REQUIRE(std::chrono::steady_clock::now() < deadline);
}

void RunningServer::stop() {
  if (!thread_.joinable()) return;
  server_->poller().post([this] {
    server_->stop();
    pass_time();
  });
  thread_.join();
}

void RunningServer::pass_time() {
  server_->poller().post([this] {
    clock_.set(clock_.now() + kStopGrace);
    server_->wake();
    pass_time();
  });
}

}  // namespace millrace::server
