#include "processor_time.hpp"

#include <dirent.h>

#include <fstream>
#include <string>

namespace bench {

double processor_seconds(int pid) {
  // See proc(5), schedstat.
  const std::string folder = "/proc/" + std::to_string(pid) + "/task/";
  DIR* const tasks = ::opendir(folder.c_str());
  if (tasks == nullptr) return 0;
  double total = 0;
  while (const dirent* task = ::readdir(tasks)) {
    if (task->d_name[0] == '.') continue;  // "..", too, has a schedstat: that of the first thread
    std::ifstream file(folder + task->d_name + "/schedstat");
    double nanoseconds = 0;
    if (file >> nanoseconds) total += nanoseconds / 1e9;
  }
  ::closedir(tasks);
  return total;
}

}  // namespace bench
