#include "server/options/password.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace millrace::server {
namespace {

std::string trim(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace

Outcome<std::string> read_password_file(const std::string& path, const Log& log) {
  const auto problem = [&](const std::string& why) {
    return Problem{"cannot use password file " + path + ": " + why};
  };
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return problem(std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return problem("not a regular file");
  std::ifstream file(path, std::ios::binary);
  std::string text(kPasswordBytesMax + 1, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && !file.eof()) {
    return problem(std::strerror(errno));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kPasswordBytesMax) return problem("too long");
  std::string password = trim(text);
  if (password.empty()) return problem("empty");
  if ((facts.st_mode & S_IROTH) != 0) log.event("password_file_readable_by_all", {{"file", path}});
  return password;
}

}  // namespace millrace::server
