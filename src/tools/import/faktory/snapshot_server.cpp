#include "tools/import/faktory/snapshot_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "cli/interrupts.hpp"
#include "journal/file/file_system.hpp"
#include "journal/posix/descriptor.hpp"
#include "server/process/temporary_folder.hpp"

namespace millrace::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSnapshotCopy = "faktory.rdb";

constexpr const char* kSnapshotSocket = "redis.sock";

constexpr const char* kSnapshotLog = "redis.log";

using journal::Descriptor;
using journal::failed_to;
using journal::uninterrupted;

constexpr std::size_t kShownReasonBytes = 200;
constexpr int kMomentMs = 10;
/// Four digits, after "REDIS".
constexpr std::size_t kSnapshotVersionAt = 5;

/// Only what a fork of a process with threads may call.
[[noreturn]] void become_redis_server(const std::vector<char*>& words, int messages, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(messages, STDOUT_FILENO);
  ::dup2(messages, STDERR_FILENO);
  // It would not be told of the end of a parent that has ended already.
  if (::getppid() == parent) ::execv(words.front(), words.data());
  ::_exit(127);
}

/// Without what it says of itself at the beginning, and without its advice.
std::string_view without_stamp(std::string_view line) {
  const std::size_t mark = line.find(" # ");
  return mark == line.npos ? std::string_view{} : line.substr(mark + 3);
}

bool is_reason(std::string_view message) {
  for (const std::string_view start : {"oO0OoO0", "Redis version=", "Configuration loaded",
                                       "Server initialized", "WARNING", "Warning: no config"}) {
    if (message.starts_with(start)) return false;
  }
  return !message.empty();
}

/// Starts it on the snapshot `folder/kSnapshotCopy`. It listens on `folder/kSnapshotSocket`, and
/// writes its messages to `folder/kSnapshotLog`. It ends with this process, however that ends.
Outcome<pid_t> start_redis_server(const std::string& program, const std::string& folder) {
  const std::string log_path = folder + "/" + kSnapshotLog;
  const Descriptor log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!log.is_open()) return failed_to("create", log_path, errno);
  // No file of settings: what is not said here is Redis's own default.
  std::vector<std::string> texts = {program,
                                    "--port",
                                    "0",
                                    "--unixsocket",
                                    folder + "/" + kSnapshotSocket,
                                    "--unixsocketperm",
                                    "700",
                                    "--save",
                                    "",
                                    "--appendonly",
                                    "no",
                                    "--dir",
                                    folder,
                                    "--dbfilename",
                                    kSnapshotCopy,
                                    "--loglevel",
                                    "warning",
                                    "--daemonize",
                                    "no"};
  std::vector<char*> words;
  words.reserve(texts.size() + 1);
  for (std::string& text : texts) words.push_back(text.data());
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return failed_to("start", program, errno);
  if (child == 0) become_redis_server(words, log.get(), parent);
  return child;
}

/// Waits a moment. True: the process has ended meanwhile, and is gone.
bool ends_within_moment(pid_t process) {
  const Descriptor end(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  pollfd wait{.fd = end.get(), .events = POLLIN, .revents = 0};
  // Without a descriptor only the time is waited for.
  (void)::poll(&wait, 1, kMomentMs);
  return uninterrupted([&] { return ::waitpid(process, nullptr, WNOHANG); }) == process;
}

/// Ends a process that has nothing to save.
void end_redis_server(pid_t process) {
  ::kill(process, SIGKILL);
  (void)uninterrupted([&] { return ::waitpid(process, nullptr, 0); });
}

/// The process that listens on a unix socket; 0: none does.
pid_t listener_of(const std::string& socket_path) {
  sockaddr_un address{};
  if (socket_path.size() >= sizeof address.sun_path) return 0;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  const Descriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!client.is_open()) return 0;
  const auto* const named = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(client.get(), named, sizeof address) != 0) return 0;
  ucred peer{};
  socklen_t size = sizeof peer;
  const int asked = ::getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return asked == 0 ? peer.pid : 0;
}

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

/// Redis would take an empty file for a database without jobs.
Outcome<Done> check_snapshot(const std::string& path) {
  constexpr std::string_view kSnapshotStart = "REDIS";
  constexpr std::size_t kVersionDigits = 4;
  journal::PosixFileSystem files;
  const auto start = journal::read_up_to(files, path, kSnapshotStart.size() + kVersionDigits);
  if (!start) return start.error();
  bool is_snapshot =
      start->starts_with(kSnapshotStart) && start->size() == kSnapshotStart.size() + kVersionDigits;
  for (const char c : *start) is_snapshot = is_snapshot && (is_digit(c) || is_letter(c));
  if (!is_snapshot) return Problem{path + ": offset 0: this is not a Redis snapshot (.rdb)"};
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

Outcome<std::string> find_redis_server(const std::string& search_path) {
  std::string_view rest = search_path;
  while (!rest.empty()) {
    const std::string_view folder = take_until(rest, ':');
    if (folder.empty()) continue;
    std::string program = std::string(folder) + "/redis-server";
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return Problem{
      "there is no program redis-server, which reads snapshots: install Debian's package "
      "redis-server"};
}

std::string load_failure_of(const std::string& log) {
  // Redis looks at a damaged snapshot once more, and then tells the place.
  constexpr std::string_view kVerdict = "--- RDB ERROR DETECTED ---\n[offset ";
  const std::size_t verdict = log.find(kVerdict);
  std::string reason;
  if (verdict != log.npos) {
    reason = "offset " + log.substr(verdict + kVerdict.size());
    reason = reason.substr(0, reason.find('\n'));
    const std::size_t bracket = reason.find(']');
    if (bracket != reason.npos) reason.replace(bracket, 1, ":");
    // The place in the sources of Redis tells nobody anything.
    const std::size_t arrow = reason.find(" -> ");
    if (bracket != reason.npos && arrow != reason.npos && arrow > bracket) {
      reason.erase(bracket + 2, arrow + 4 - (bracket + 2));
    }
    return one_line(reason, kShownReasonBytes);
  }
  std::string_view rest = log;
  while (!rest.empty() && reason.empty()) {
    const std::string_view message = without_stamp(take_line(rest));
    if (is_reason(message)) reason = message;
  }
  if (reason.find("RDB format version") != reason.npos) {
    reason = "offset " + std::to_string(kSnapshotVersionAt) + ": " + reason +
             ": install the redis-server that wrote it, or import from that one while it runs";
  }
  return one_line(reason.empty() ? "it has ended without a reason" : reason, kShownReasonBytes);
}

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
      journal::PosixFileSystem files;
      const auto log = journal::read_up_to(files, folder->in(kSnapshotLog), kSnapshotLogBytesMax);
      return Problem{options.snapshot + ": " + (log ? load_failure_of(*log) : log.error().text)};
    }
    auto redis = connect_when_loaded(folder->in(kSnapshotSocket), options.snapshot);
    if (!redis) return redis.error();
    if (*redis) server.redis_.emplace(std::move(**redis));
  }
  return server;
}

}  // namespace millrace::tools
