#include "tools/doctor/directory_user.hpp"

#include <sys/sysmacros.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "base/number.hpp"

namespace millrace::tools {

std::optional<pid_t> user_of_directory(const struct stat& directory) {
  std::ifstream file("/proc/locks");
  std::ostringstream locks;
  locks << file.rdbuf();
  return holder_in(locks.str(), directory);
}

/// `1: FLOCK  ADVISORY  WRITE 4711 fd:01:131074 0 EOF`
std::optional<pid_t> holder_in(std::string_view locks, const struct stat& file) {
  char place[64];
  std::snprintf(place, sizeof place, "%02x:%02x:%llu", major(file.st_dev), minor(file.st_dev),
                static_cast<unsigned long long>(file.st_ino));
  std::istringstream lines{std::string(locks)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string number, kind, manner, right, pid, where;
    words >> number >> kind >> manner >> right >> pid >> where;
    if (kind == "FLOCK" && where == place) return parse_number<pid_t>(pid);
  }
  return std::nullopt;
}

}  // namespace millrace::tools
