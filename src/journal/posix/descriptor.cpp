#include "journal/posix/descriptor.hpp"

#include <sys/stat.h>

#include <system_error>

namespace millrace::journal {

namespace {

bool is_out_of_space(int error) {
  const bool has_no_descriptor = error == EMFILE || error == ENFILE;
  return has_no_descriptor || error == ENOSPC || error == EDQUOT;
}

}  // namespace

void give_to_owner_of(int directory, const char* path, const Descriptor& file) {
  constexpr uid_t kRoot = 0;
  struct stat owner {};
  if (::geteuid() != kRoot || ::fstatat(directory, path, &owner, 0) != 0) return;
  // Some containers and file systems refuse it: the file stays root's.
  if (owner.st_uid != kRoot) (void)!::fchown(file.get(), owner.st_uid, owner.st_gid);
}

Problem failed_to(std::string_view verb, const std::string& path, int error) {
  return Problem{.text = "cannot " + std::string(verb) + " " + path + ": " +
                         std::system_category().message(error),
                 .is_out_of_space = is_out_of_space(error)};
}

}  // namespace millrace::journal
