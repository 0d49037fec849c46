#include "server/process/audit_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace millrace::server {
namespace {

int open_at(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC, 0600);
}

/// How many bytes were written; with fewer than all, errno says why.
std::size_t write_all(int descriptor, std::string_view text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

}  // namespace

struct AuditFile::Shared {
  Shared(std::string given, const Log& given_log) : path(std::move(given)), log(given_log) {}
  ~Shared() {
    if (descriptor >= 0) ::close(descriptor);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  const std::string path;
  const Log log;  ///< a copy, for a thread that outlives the server

  std::mutex mutex;  ///< of the following
  std::condition_variable changed;
  std::string waiting;
  std::uint64_t lines_waiting = 0;
  std::uint64_t lost = 0;
  bool must_reopen = false;
  bool is_ending = false;
  bool has_ended = false;

  // Of the thread.
  int descriptor = -1;
  bool is_torn = false;  ///< the last line that was begun has no end
  bool has_failed = false;

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return is_ending || must_reopen || !waiting.empty(); });
      if (is_ending && waiting.empty()) break;
      const std::string text = std::exchange(waiting, {});
      const std::uint64_t lines = std::exchange(lines_waiting, 0);
      const bool is_moved = std::exchange(must_reopen, false);
      lock.unlock();
      const bool is_written = put(text, is_moved);
      lock.lock();
      if (!is_written) lost += lines;
    }
    has_ended = true;
    changed.notify_all();
  }

  /// False: not all of it, or nothing, was written.
  bool put(const std::string& text, bool is_moved) {
    if (is_moved || descriptor < 0) {
      if (descriptor >= 0) ::close(descriptor);
      descriptor = open_at(path);
      is_torn = false;
    }
    const std::string_view end = is_torn ? "\n" : "";
    const std::string all = std::string(end) + text;
    const std::size_t done = descriptor < 0 ? 0 : write_all(descriptor, all);
    const int error = errno;
    if (done > 0) is_torn = all[done - 1] != '\n';
    const bool is_good = descriptor >= 0 && done == all.size();
    if (!is_good && !std::exchange(has_failed, true)) {
      log.event("audit_log_failed", {{"file", path}, {"problem", std::strerror(error)}});
    }
    if (is_good && !text.empty()) has_failed = false;
    return is_good;
  }
};

AuditFile::AuditFile(const Log& log) : log_(log) {}

AuditFile::~AuditFile() {
  if (shared_ == nullptr) return;
  std::unique_lock lock(shared_->mutex);
  shared_->is_ending = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kPatience, [this] { return shared_->has_ended; });
}

Outcome<Done> AuditFile::open(const std::string& path) {
  // Shared with the thread, which may outlive this: a disk may not answer.
  auto shared = std::make_shared<Shared>(path, log_);
  shared->descriptor = open_at(path);
  if (shared->descriptor < 0) return Problem{path + ": " + std::strerror(errno)};
  try {
    std::thread([shared] {
      pthread_setname_np(pthread_self(), "audit-log");
      shared->run();
    }).detach();
  } catch (const std::system_error& error) {
    return Problem{std::string("no thread for the audit log: ") + error.what()};
  }
  shared_ = std::move(shared);
  return Done{};
}

void AuditFile::write(std::string line) {
  if (shared_ == nullptr) return;
  const std::lock_guard lock(shared_->mutex);
  if (shared_->waiting.size() + line.size() > kWaitingBytesMax) {
    ++shared_->lost;
    return;
  }
  shared_->waiting += line;
  ++shared_->lines_waiting;
  shared_->changed.notify_all();
}

void AuditFile::reopen() {
  if (shared_ == nullptr) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->must_reopen = true;
  shared_->changed.notify_all();
}

std::uint64_t AuditFile::lost() const {
  if (shared_ == nullptr) return 0;
  const std::lock_guard lock(shared_->mutex);
  return shared_->lost;
}

}  // namespace millrace::server
