#include "tools/import/faktory/snapshot_server.hpp"

#include <array>
#include <csignal>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "cli/interrupts.hpp"
#include "journal/file/file_system.hpp"
#include "server/process/temporary_folder.hpp"
#include "tools/import/faktory/redis_process.hpp"

namespace millrace::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSnapshotLogBytesMax = 64 * 1024;

/// The signals that end a process wait as long as this lives.
class EndingDelayed {
 public:
  EndingDelayed() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : kSignals) {
      const bool is_ignored = signal == SIGHUP && !cli::is_hangup_heard();
      if (!is_ignored) sigaddset(&ending, signal);
    }
    ::sigprocmask(SIG_BLOCK, &ending, &before_);
  }
  EndingDelayed(const EndingDelayed&) = delete;
  EndingDelayed& operator=(const EndingDelayed&) = delete;
  ~EndingDelayed() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  /// One of them has come.
  [[nodiscard]] static bool has_come() {
    sigset_t waiting;
    sigemptyset(&waiting);
    ::sigpending(&waiting);
    for (const int signal : kSignals) {
      if (sigismember(&waiting, signal) == 1) return true;
    }
    return false;
  }

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  sigset_t before_{};
};

Outcome<std::string> read_beginning(const std::string& path, std::uint64_t bytes_max) {
  journal::PosixFileSystem files;
  const auto file = files.open(path, journal::FileSystem::Access::kRead);
  if (!file) return file.error();
  std::string bytes(bytes_max, '\0');
  const auto read = (*file)->read(0, bytes);
  if (!read) return read.error();
  bytes.resize(*read);
  return bytes;
}

/// Redis would take an empty file for a database without jobs.
Outcome<Done> check_snapshot(const std::string& path) {
  constexpr std::string_view kSnapshotStart = "REDIS";
  constexpr std::size_t kVersionDigits = 4;
  const auto start = read_beginning(path, kSnapshotStart.size() + kVersionDigits);
  if (!start) return start.error();
  bool is_snapshot =
      start->starts_with(kSnapshotStart) && start->size() == kSnapshotStart.size() + kVersionDigits;
  for (const char c : *start) is_snapshot = is_snapshot && (is_digit(c) || is_letter(c));
  if (!is_snapshot) return Problem{path + ": offset 0: this is no snapshot of Redis (.rdb)"};
  return Done{};
}

/// What a Redis has not saved is not in the file.
Outcome<Done> refuse_used_directory(const std::string& snapshot) {
  const std::string directory = fs::path(snapshot).parent_path().string();
  const std::string socket = (directory.empty() ? "." : directory) + "/redis.sock";
  const pid_t process = listener_of(socket);
  if (process == 0) return Done{};
  return Problem{"a Redis (process " + std::to_string(process) + ") uses " + directory +
                 ": stop Faktory first, or import a copy of the file"};
}

Outcome<Done> copy_snapshot(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::copy_file(from, to, error);
  if (!error) return Done{};
  return Problem{"cannot copy " + from + " to " + to + ": " + error.message() +
                 "; the variable TMPDIR names another folder"};
}

/// Nullopt: it still loads.
Outcome<std::optional<Redis>> connect_when_loaded(const std::string& socket,
                                                  const std::string& name) {
  auto redis = Redis::connect({.kind = FaktorySource::Kind::kSocket, .path = socket}, name);
  // While it loads, it answers some commands, and not this one.
  const auto size = redis ? redis->ask({"DBSIZE"}) : redis.error();
  if (size) return std::optional<Redis>(std::move(*redis));
  // It loads, or does not listen yet. Whether it will is told by its process.
  if (size.error().is_passing) return std::optional<Redis>();
  return size.error();
}

}  // namespace

SnapshotServer::SnapshotServer(SnapshotServer&& other) noexcept
    : process_(std::exchange(other.process_, 0)), redis_(std::move(other.redis_)) {}

SnapshotServer::~SnapshotServer() {
  if (process_ != 0) end_redis_server(process_);
}

Outcome<SnapshotServer> SnapshotServer::start(const Options& options) {
  if (auto fit = check_snapshot(options.snapshot); !fit) return fit.error();
  if (auto fit = refuse_used_directory(options.snapshot); !fit) return fit.error();
  const auto program = find_redis_server(options.search_path);
  if (!program) return Problem{options.snapshot + ": " + program.error().text};
  const EndingDelayed delayed;
  const auto folder = server::TemporaryFolder::make(options.temporary_folder, "millrace-import");
  if (!folder) return folder.error();
  if (auto copied = copy_snapshot(options.snapshot, folder->in(kSnapshotCopy)); !copied) {
    return copied.error();
  }
  const auto process = start_redis_server(*program, folder->path());
  if (!process) return process.error();
  SnapshotServer server(*process);
  while (!server.redis_) {
    if (EndingDelayed::has_come()) return Problem{"interrupted; nothing was written"};
    if (ends_within_moment(*process)) {
      server.process_ = 0;
      const auto log = read_beginning(folder->in(kSnapshotLog), kSnapshotLogBytesMax);
      return Problem{options.snapshot + ": " + (log ? load_failure_of(*log) : log.error().text)};
    }
    auto redis = connect_when_loaded(folder->in(kSnapshotSocket), options.snapshot);
    if (!redis) return redis.error();
    if (*redis) server.redis_.emplace(std::move(**redis));
  }
  return server;
}

}  // namespace millrace::tools
