#include "tools/import/faktory/redis_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "journal/posix/descriptor.hpp"

namespace millrace::tools {
namespace {

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

}  // namespace

Outcome<std::string> find_redis_server(const std::string& search_path) {
  std::string_view rest = search_path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (folder.empty()) continue;
    std::string program = std::string(folder) + "/redis-server";
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return Problem{
      "there is no program redis-server, which reads snapshots: install Debian's package "
      "redis-server"};
}

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

bool ends_within_moment(pid_t process) {
  const Descriptor end(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  pollfd wait{.fd = end.get(), .events = POLLIN, .revents = 0};
  // Without a descriptor only the time is waited for.
  (void)::poll(&wait, 1, kMomentMs);
  return uninterrupted([&] { return ::waitpid(process, nullptr, WNOHANG); }) == process;
}

void end_redis_server(pid_t process) {
  ::kill(process, SIGKILL);
  (void)uninterrupted([&] { return ::waitpid(process, nullptr, 0); });
}

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
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::string_view message = without_stamp(line);
    if (is_reason(message)) reason = message;
  }
  if (reason.find("RDB format version") != reason.npos) {
    reason = "offset " + std::to_string(kSnapshotVersionAt) + ": " + reason +
             ": install the redis-server that wrote it, or import from that one while it runs";
  }
  return one_line(reason.empty() ? "it has ended without a reason" : reason, kShownReasonBytes);
}

}  // namespace millrace::tools
