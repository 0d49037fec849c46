#include "server/foreign_jobs.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/text.hpp"

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBeanstalkd = "beanstalkd";
constexpr std::string_view kFaktory = "Faktory";

/// The server that writes files of this name; empty: neither of the two.
std::string_view owner_of(const std::string& name) {
  if (name.starts_with("binlog.")) return kBeanstalkd;
  return name == "faktory.rdb" ? kFaktory : "";
}

/// What to do with them. A new directory is named, since the old one stays as it is.
std::string advice_for(std::string_view owner, const std::string& directory) {
  std::error_code error;
  const fs::path path = fs::canonical(directory, error);
  const std::string from = error ? directory : path.string();
  const std::string into = shell_word(from + "-millrace");
  const std::string flag = owner == kBeanstalkd ? "--beanstalkd " : "--faktory ";
  return "; to take them, stop " + std::string(owner) + " and type: millrace import " + flag +
         shell_word(from) + " --into " + into + "; then start with " + into;
}

}  // namespace

Outcome<Done> refuse_foreign_jobs(const std::string& directory) {
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  std::string first;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!owner_of(name).empty() && (first.empty() || name < first)) first = name;
  }
  if (first.empty()) return Done{};
  const std::string_view owner = owner_of(first);
  return Problem{directory + " holds jobs stored by " + std::string(owner) + " (" + first + ")" +
                 advice_for(owner, directory)};
}

}  // namespace millrace::server
