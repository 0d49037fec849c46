#include "tools/directory/places.hpp"

#include <pwd.h>
#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "journal/file/log_files.hpp"

namespace millrace::tools {

bool lies_in(const std::string& path, const std::string& directory) {
  std::error_code error;
  // Made absolute first: a missing name alone would stay relative.
  std::filesystem::path place =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  for (; !error && place.has_relative_path(); place = place.parent_path()) {
    std::error_code missing;
    if (std::filesystem::equivalent(place, directory, missing)) return true;
  }
  return false;
}

bool is_same_place(const std::string& one, const std::string& other) {
  const auto place_of = [](const std::string& path) {
    std::error_code error;
    const std::filesystem::path place =
        std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
    // `b/` and `b` are one, also before it is there.
    return place.has_filename() ? place : place.parent_path();
  };
  return place_of(one) == place_of(other);
}

Outcome<Done> refuse_inside(const std::string& path, const std::string& source) {
  if (!lies_in(path, source)) return Done{};
  std::error_code error;
  if (!std::filesystem::equivalent(path, source, error)) {
    return Problem{path + " must not be inside " + source};
  }
  return Problem{path + " cannot be source and target: use a new directory"};
}

bool is_backup(const std::string& directory) {
  std::error_code error;
  return std::filesystem::exists(directory + "/" + kManifestName, error);
}

Outcome<Done> refuse_backup(const std::string& directory) {
  if (!is_backup(directory)) return Done{};
  return Problem{directory +
                 " is a backup, and a server would change it: make a data directory "
                 "of it with `millrace restore " +
                 directory + " --to DATA`"};
}

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
