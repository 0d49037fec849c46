#include "tools/local/sync_probe.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "journal/posix/descriptor.hpp"

namespace millrace::tools {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kProbeBytes = 4096;
/// The journal writes into room that was allocated before.
constexpr off_t kProbeFileBytes = off_t{4} << 20;
constexpr auto kProbeTimeMax = std::chrono::seconds(3);

/// A file that nobody sees, and that is gone when it is closed.
int open_without_name(const std::string& directory) {
  const int descriptor = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return descriptor;
  std::string path = directory + "/millrace-probe-XXXXXX";
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

}  // namespace

Outcome<SyncTimes> measure_syncs(const std::string& directory, std::size_t count) {
  const journal::Descriptor file(open_without_name(directory));
  if (!file.is_open()) return journal::failed_to("write to", directory, errno);
  if (const int problem = posix_fallocate(file.get(), 0, kProbeFileBytes); problem != 0) {
    return journal::failed_to("write to", directory, problem);
  }
  (void)fsync(file.get());
  const std::array<char, kProbeBytes> bytes{};
  std::vector<std::chrono::nanoseconds> times;
  const auto end = Steady::now() + kProbeTimeMax;
  off_t at = 0;
  while (times.size() < count && Steady::now() < end) {
    const auto begun = Steady::now();
    if (pwrite(file.get(), bytes.data(), bytes.size(), at) != static_cast<ssize_t>(kProbeBytes) ||
        fdatasync(file.get()) != 0) {
      return journal::failed_to("sync a file in", directory, errno);
    }
    times.push_back(Steady::now() - begun);
    at = (at + static_cast<off_t>(kProbeBytes)) % kProbeFileBytes;
  }
  std::ranges::sort(times);
  return SyncTimes{.median = times[times.size() / 2],
                   .slowest_of_hundred = times[times.size() * 99 / 100],
                   .longest = times.back(),
                   .count = times.size()};
}

std::string milliseconds_text(std::chrono::nanoseconds time) {
  const double ms = std::chrono::duration<double, std::milli>(time).count();
  char text[32];
  std::snprintf(text, sizeof text, ms < 0.1 ? "%.3f ms" : ms < 10 ? "%.2f ms" : "%.0f ms", ms);
  return text;
}

}  // namespace millrace::tools
