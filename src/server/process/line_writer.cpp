#include "server/process/line_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "server/process/logging.hpp"

namespace millrace::server {
namespace {

bool may_wait(int descriptor) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) return false;
  return S_ISFIFO(facts.st_mode) || ::isatty(descriptor) == 1;
}

/// Whether a write waits is a property of what is open, and that may be a shell's. A pipe or a
/// terminal can be opened once more, unless it is another user's.
int reopened(int descriptor) {
  if (!may_wait(descriptor)) return -1;
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  return ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

constexpr int kReaderWaitMs = 1000;

bool is_writable(int descriptor, int wait_ms) {
  pollfd writable{.fd = descriptor, .events = POLLOUT, .revents = 0};
  int ready = -1;
  do ready = ::poll(&writable, 1, wait_ms);
  while (ready < 0 && errno == EINTR);
  return ready == 1;
}

/// What is shared, and may wait, is told not to for this moment.
ssize_t write_shared(int descriptor, std::string_view part) {
  const int flags = may_wait(descriptor) ? ::fcntl(descriptor, F_GETFL) : -1;
  const bool changes = flags >= 0 && (flags & O_NONBLOCK) == 0;
  if (changes) ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
  const ssize_t written = ::write(descriptor, part.data(), part.size());
  if (changes) ::fcntl(descriptor, F_SETFL, flags);
  return written;
}

/// A pipe that can be written to takes PIPE_BUF bytes. A socket or a terminal may take fewer.
ssize_t write_some(int descriptor, std::string_view text) {
  const std::string_view part = text.substr(0, PIPE_BUF);
  if (!is_writable(descriptor, 0)) return -1;
  const ssize_t sent = ::send(descriptor, part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 && errno == ENOTSOCK ? write_shared(descriptor, part) : sent;
}

}  // namespace

LineWriter::LineWriter(int descriptor, LogFormat format)
    : format_(format), shared_(descriptor), own_(reopened(descriptor)) {}

LineWriter::~LineWriter() {
  if (own_ >= 0) ::close(own_);
}

void LineWriter::write(std::string_view lines) {
  const std::lock_guard guard(mutex_);
  if (lost_ > told_) {
    const auto sink = [this](std::string_view line) {
      if (put((is_torn_ ? "\n" : "") + std::string(line))) told_ = lost_;
    };
    const Log notice(sink, Log::Routine::kLogged, format_);
    notice.event("log_lines_lost", {{"count", lost_ - told_}});
  }
  if (lost_ > told_ || !put(lines)) ++lost_;
}

bool LineWriter::put(std::string_view text) {
  const std::size_t bytes = text.size();
  while (!text.empty()) {
    const ssize_t written = write_some(own_ >= 0 ? own_ : shared_, text);
    if (written <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (text.size() < bytes) is_torn_ = !text.empty();
  return text.empty();
}

bool wait_for_reader(int descriptor) {
  return is_writable(descriptor, kReaderWaitMs);
}

}  // namespace millrace::server
