#include "cli/input.hpp"

#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace millrace::cli {
namespace {

/// Longer than any job.
constexpr std::size_t kInputBytesMax = std::size_t{1} << 30;

/// What writes to a pipe begins within this time, or is asked for with `-`.
constexpr int kSilenceSeconds = 5;

Reply<std::string> read_all(std::FILE* file, const std::string& what) {
  constexpr std::size_t kPartBytes = 64 * 1024;
  std::string all;
  std::size_t got = 0;
  do {
    const std::size_t before = all.size();
    all.resize(before + kPartBytes);
    got = std::fread(all.data() + before, 1, kPartBytes, file);
    all.resize(before + got);
    if (all.size() > kInputBytesMax)
      return Failure{.text = "the " + what + " is longer than any job"};
  } while (got > 0);
  // A part of it must not be taken for the whole.
  if (std::ferror(file) != 0) {
    return Failure{.text = "the " + what + " cannot be read: " + std::strerror(errno)};
  }
  return all;
}

}  // namespace

Reply<std::string> read_stdin(Console& console, const std::string& what) {
  if (::isatty(STDIN_FILENO) == 1)
    console.complain("type the " + what + ", and end it with Ctrl-D");
  return read_all(stdin, what);
}

Reply<std::string> read_file(const std::string& path, const std::string& what) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             std::fclose);
  if (!file) {
    return Failure{.exit = Exit::kUsage, .text = path + ": " + std::strerror(errno)};
  }
  return read_all(file.get(), what);
}

StdinState look_at_stdin() {
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) != 0) return StdinState::kEmpty;
  if (S_ISREG(status.st_mode)) return StdinState::kReadable;
  // A terminal, or /dev/null.
  if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)) return StdinState::kEmpty;
  fd_set input;
  FD_ZERO(&input);
  FD_SET(STDIN_FILENO, &input);
  timeval patience{.tv_sec = kSilenceSeconds, .tv_usec = 0};
  const bool has_come = ::select(STDIN_FILENO + 1, &input, nullptr, nullptr, &patience) > 0;
  return has_come ? StdinState::kReadable : StdinState::kSilent;
}

}  // namespace millrace::cli
