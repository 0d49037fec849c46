#include "server/foreign_jobs.hpp"

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

}  // namespace

std::optional<ForeignJobs> find_foreign_jobs(const std::string& directory) {
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  std::string first;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!owner_of(name).empty() && (first.empty() || name < first)) first = name;
  }
  if (first.empty()) return std::nullopt;
  const std::string owner(owner_of(first));
  const fs::path path = fs::canonical(directory, error);
  const std::string from = error ? directory : path.string();
  // A new directory, since the old one stays as it is.
  const std::string into = from + "-millrace";
  const std::string flag = owner == kBeanstalkd ? "--beanstalkd " : "--faktory ";
  return ForeignJobs{
      .seen = directory + " holds jobs stored by " + owner + " (" + first + ")",
      .owner = owner,
      .into = into,
      .command = "millrace import " + flag + shell_word(from) + " --into " + shell_word(into)};
}

Outcome<Done> refuse_foreign_jobs(const std::string& directory) {
  const auto found = find_foreign_jobs(directory);
  if (!found) return Done{};
  return Problem{found->seen + "; to take them, stop " + found->owner +
                 " and type: " + found->command + "; then start with " + shell_word(found->into)};
}

}  // namespace millrace::server
