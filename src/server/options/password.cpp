#include "server/options/password.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/text.hpp"

namespace millrace::server {

Outcome<PasswordFile> read_password_file(const std::string& path, const char* what) {
  const auto problem = [&](const std::string& why) {
    return Problem{std::string("cannot use ") + what + " " + path + ": " + why};
  };
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return problem(std::strerror(errno));
  // A FIFO would block the start, and a directory would read as an empty file.
  if (!S_ISREG(facts.st_mode)) return problem("not a regular file");
  std::ifstream file(path, std::ios::binary);
  std::string text(kPasswordBytesMax + 1, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && !file.eof()) {
    return problem(std::strerror(errno));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  static_assert(kPasswordBytesMax == 4096);
  if (text.size() > kPasswordBytesMax) return problem("longer than 4096 bytes");
  std::string password(trimmed(text));
  if (password.empty()) return problem("it is empty");
  return PasswordFile{.password = std::move(password),
                      .is_readable_by_all = (facts.st_mode & S_IROTH) != 0};
}

Outcome<std::string> read_password_file(const std::string& path, const Log& log, const char* what) {
  auto file = read_password_file(path, what);
  if (!file) return file.error();
  if (file->is_readable_by_all) log.event("password_file_readable_by_all", {{"file", path}});
  return std::move(file->password);
}

}  // namespace millrace::server
