#include "server/process/user.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

namespace millrace::server {

Outcome<User> find_user(const std::string& name) {
  errno = 0;
  const passwd* entry = getpwnam(name.c_str());
  if (entry == nullptr) {
    const std::string why = errno == 0 ? "no such user" : std::strerror(errno);
    return Problem{"cannot become user '" + name + "': " + why};
  }
  return User{.name = name, .user_id = entry->pw_uid, .group_id = entry->pw_gid};
}

bool is_root() {
  return geteuid() == 0;
}

std::optional<std::string> find_home() {
  passwd entry{};
  passwd* found = nullptr;
  // More than any system asks for.
  std::vector<char> texts(std::size_t{64} << 10);
  const int error = getpwuid_r(getuid(), &entry, texts.data(), texts.size(), &found);
  if (error != 0 || found == nullptr || *found->pw_dir == '\0') return std::nullopt;
  return found->pw_dir;
}

Outcome<Done> become(const User& user) {
  if (geteuid() == user.user_id && getegid() == user.group_id && !is_root()) return Done{};
  // In this order: after `setuid` the process may not change its groups any more.
  const bool is_done = initgroups(user.name.c_str(), user.group_id) == 0 &&
                       setgid(user.group_id) == 0 && setuid(user.user_id) == 0;
  if (!is_done) return Problem{"cannot become user '" + user.name + "': " + std::strerror(errno)};
  return Done{};
}

}  // namespace millrace::server
