#include "server/serve.hpp"

#include <asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "journal/file_journal.hpp"
#include "journal/volatile_journal.hpp"
#include "server/password.hpp"
#include "server/process.hpp"
#include "server/server.hpp"

namespace millrace::server {
namespace {

constexpr int kExitJournalFailed = 3;

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

/// Replies wait for what can never become durable now, so the process ends: clients then know that
/// they do not know. It does so at once, without running destructors that would wait for the disk.
void end_process(const Problem& problem, const Log& log) {
  log.event("journal_failed", {{"problem", problem.text}});
  std::_Exit(kExitJournalFailed);
}

Outcome<std::unique_ptr<journal::FileJournal>> open_file_journal(const Config& config,
                                                                 journal::FileSystem& files,
                                                                 const Log& log) {
  journal::FileJournalOptions options;
  options.sync_mode = sync_mode_of(config.sync.mode);
  options.sync_interval = config.sync.interval;
  options.on_failure = [&log](const Problem& problem) { end_process(problem, log); };
  return journal::FileJournal::open(files, config.data, std::move(options));
}

Outcome<std::string> password_of(const Config& config, const Log& log) {
  if (config.password_file.empty()) return config.password;
  return read_password_file(config.password_file, log);
}

/// Stays in wait for signals as long as the loop runs.
class Signals {
 public:
  explicit Signals(Server& server)
      : server_(server), signals_(server.loop(), SIGTERM, SIGINT, SIGUSR1) {
    wait();
  }

 private:
  void wait() {
    signals_.async_wait([this](const asio::error_code& error, int signal) {
      if (error) return;
      if (signal == SIGUSR1) {
        server_.drain_beanstalk();
      } else {
        server_.stop();
      }
      wait();
    });
  }

  Server& server_;
  asio::basic_signal_set<Executor> signals_;
};

void announce(const Server& server) {
  for (const Server::Port& port : server.ports()) {
    std::printf("%s: %s\n", port.door, port.address.text().c_str());
  }
  std::puts("ready");
  std::fflush(stdout);
}

/// `file_journal` is the server's journal, or null when it has none.
Outcome<Done> run(Server& server, const journal::FileJournal* file_journal, const Log& log) {
  if (auto opened = server.open(); !opened) return opened;
  if (file_journal != nullptr && file_journal->cut_bytes() > 0) {
    log.event("torn_tail_cut", {{"bytes", file_journal->cut_bytes()}});
  }
  const Signals signals(server);
  announce(server);
  server.run();
  log.event("stopped");
  return Done{};
}

}  // namespace

Outcome<Done> serve(const Config& config, const Log& log) {
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  const Outcome<std::string> password = password_of(config, log);
  if (!password) return password.error();
  SystemClock clock;
  const Server::Options options{.beanstalk = config.beanstalk,
                                .faktory = config.faktory,
                                .password = *password,
                                .job_bytes_max = config.job_bytes_max,
                                .is_insecure = config.is_insecure,
                                .random_seed = random_number()};
  if (config.is_volatile) {
    Server server(options, std::make_unique<journal::VolatileJournal>(), clock, log);
    return run(server, nullptr, log);
  }
  journal::PosixFileSystem files;
  auto journal = open_file_journal(config, files, log);
  if (!journal) return journal.error();
  const journal::FileJournal* file_journal = journal->get();
  Server server(options, std::move(*journal), clock, log);
  return run(server, file_journal, log);
}

}  // namespace millrace::server
