#include "tools/local/local_server.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "journal/posix/descriptor.hpp"

extern char** environ;

namespace millrace::tools {
namespace {

constexpr const char* kProgram = "/proc/self/exe";
constexpr const char* kReadyLine = "ready";

/// What a server would read its options, its password and its sockets from.
bool configures_server(std::string_view variable) {
  constexpr std::array<std::string_view, 6> kBeginnings = {
      "MILLRACE_",      "FAKTORY_PASSWORD=", "LISTEN_",
      "NOTIFY_SOCKET=", "DD_DOGSTATSD_URL=", "WATCHDOG_"};
  return std::ranges::any_of(kBeginnings, [&](auto each) { return variable.starts_with(each); });
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Between fork and exec: only calls that are safe there.
[[noreturn]] void become_server(int output, int log, pid_t parent, char* const* arguments,
                                char* const* variables) {
  // Ctrl-C is for the parent, which then ends the server.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (getppid() == parent && dup2(output, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0) {
    execve(kProgram, arguments, variables);
  }
  _exit(127);
}

std::string last_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line, last;
  while (std::getline(file, line)) last = line;
  return last;
}

}  // namespace

LocalServer::LocalServer(LocalServer&& other) noexcept
    : process_(std::exchange(other.process_, 0)), ports_(std::move(other.ports_)) {}

Outcome<LocalServer> LocalServer::start(const std::vector<std::string>& flags,
                                        const std::string& log_file) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Problem{std::string("no pipe: ") + std::strerror(errno)};
  const journal::Descriptor reading(ends[0]);
  journal::Descriptor writing(ends[1]);
  const journal::Descriptor log(
      log_file.empty() ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
                       : open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.is_open()) return journal::failed_to("write", log_file, errno);
  std::vector<std::string> arguments = {"millrace", "serve"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!configures_server(*each)) variables.emplace_back(*each);
  }
  const std::vector<char*> argument_list = pointers_to(arguments);
  const std::vector<char*> variable_list = pointers_to(variables);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return Problem{std::string("no process: ") + std::strerror(errno)};
  if (child == 0) {
    become_server(writing.get(), log.get(), parent, argument_list.data(), variable_list.data());
  }
  LocalServer server(child);
  close(writing.release());
  if (auto read = server.read_ports(reading.get()); !read) {
    const std::string why = log_file.empty() ? "" : last_line_of(log_file);
    return Problem{"the server did not start" + (why.empty() ? "" : ": " + why)};
  }
  return server;
}

/// Lines as `web: 127.0.0.1:7420`, and then `ready`.
Outcome<Done> LocalServer::read_ports(int from) {
  std::string line;
  char letter = 0;
  while (true) {
    const ssize_t got = read(from, &letter, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Problem{"its output ended"};
    if (letter != '\n') {
      line += letter;
      continue;
    }
    if (line == kReadyLine) return Done{};
    const std::size_t colon = line.find(": ");
    if (colon != line.npos) {
      auto target = client::parse_target(line.substr(colon + 2));
      if (target) ports_.push_back({line.substr(0, colon), std::move(*target)});
    }
    line.clear();
  }
}

client::Target LocalServer::port(std::string_view name) const {
  const auto found =
      std::ranges::find_if(ports_, [&](const Port& port) { return port.name == name; });
  CHECK(found != ports_.end());
  return found->target;
}

bool LocalServer::is_running() {
  if (process_ != 0 && waitpid(process_, nullptr, WNOHANG) == process_) process_ = 0;
  return process_ != 0;
}

void LocalServer::end() {
  if (process_ == 0) return;
  kill(process_, SIGTERM);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
}

}  // namespace millrace::tools
