#include "tools/directory/owner.hpp"

#include <pwd.h>
#include <sys/stat.h>

#include "journal/file/log_files.hpp"

namespace millrace::tools {

std::string name_of_user(uid_t number) {
  const passwd* const entry = getpwuid(number);
  return entry == nullptr ? "user " + std::to_string(number) : entry->pw_name;
}

std::string owner_warning(const std::string& directory) {
  struct stat its {};
  struct stat made {};
  const std::string file = directory + "/" + journal::kExtentName;
  if (stat(directory.c_str(), &its) != 0 || stat(file.c_str(), &made) != 0) return {};
  constexpr uid_t kRoot = 0;
  if (its.st_uid == made.st_uid || its.st_uid == kRoot) return {};
  const std::string owner = name_of_user(its.st_uid);
  return "warning: " + directory + " belongs to " + owner + ", but the files in it belong to " +
         name_of_user(made.st_uid) + ". A server that runs as " + owner +
         " cannot open them: chown -R " + owner + " " + directory + "\n";
}

}  // namespace millrace::tools
