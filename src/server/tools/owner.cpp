#include "server/tools/owner.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millrace::server {

std::string name_of_user(uid_t number) {
  const passwd* const entry = getpwuid(number);
  return entry == nullptr ? "user " + std::to_string(number) : entry->pw_name;
}

std::string owner_warning(const std::string& directory) {
  struct stat facts {};
  if (stat(directory.c_str(), &facts) != 0 || facts.st_uid == geteuid()) return {};
  const std::string owner = name_of_user(facts.st_uid);
  return "warning: " + directory + " belongs to " + owner + ", and what was made in it to " +
         name_of_user(geteuid()) + ": a server of " + owner +
         " cannot open it, so give it all to that user with chown -R\n";
}

}  // namespace millrace::server
