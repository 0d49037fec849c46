#include "server/foreign_jobs.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

/// The server that writes files of this name; empty: neither of the two.
std::string_view owner_of(const std::string& name) {
  if (name.starts_with("binlog.")) return "beanstalkd";
  return name == "faktory.rdb" ? "Faktory" : "";
}

}  // namespace

Outcome<Done> refuse_foreign_jobs(const std::string& directory) {
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    const std::string_view owner = owner_of(name);
    if (owner.empty()) continue;
    return Problem{directory + " holds jobs stored by " + std::string(owner) + " (" + name +
                   "), which Millrace cannot read; let that server finish them, or use another "
                   "directory"};
  }
  return Done{};
}

}  // namespace millrace::server
