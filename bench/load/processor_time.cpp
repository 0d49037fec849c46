#include "processor_time.hpp"

#include <dirent.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace bench {
namespace {

[[noreturn]] void fail_without(int pid) {
  throw std::runtime_error("process " + std::to_string(pid) + " does not run");
}

/// See proc(5), stat: the state follows the name, which may have brackets itself.
bool has_ended(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t name_end = text.rfind(") ");
  return name_end == std::string::npos || text[name_end + 2] == 'Z';
}

}  // namespace

double processor_seconds(int pid) {
  // See proc(5), schedstat.
  const std::string folder = "/proc/" + std::to_string(pid) + "/task/";
  DIR* const tasks = ::opendir(folder.c_str());
  if (tasks == nullptr) fail_without(pid);
  double total = 0;
  while (const dirent* task = ::readdir(tasks)) {
    if (task->d_name[0] == '.') continue;  // "..", too, has a schedstat: that of the first thread
    std::ifstream file(folder + task->d_name + "/schedstat");
    double nanoseconds = 0;
    if (file >> nanoseconds) total += nanoseconds / 1e9;
  }
  ::closedir(tasks);
  if (has_ended(pid)) fail_without(pid);
  return total;
}

}  // namespace bench
