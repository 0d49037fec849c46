#pragma once

#include <string>

#include "base/result.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

/// Longest password file.
inline constexpr std::size_t kPasswordBytesMax = 4096;

struct PasswordFile {
  std::string password;
  bool is_readable_by_all = false;
};

/// The password in a file, without the white space around it. `what`: as a problem calls the file.
[[nodiscard]] Outcome<PasswordFile> read_password_file(const std::string& path,
                                                       const char* what = "password file");

/// The password in a file, without the white space around it. A file that every user can read is
/// logged and accepted, since orchestrators often mount secrets that way.
[[nodiscard]] Outcome<std::string> read_password_file(const std::string& path, const Log& log,
                                                      const char* what = "password file");

}  // namespace millrace::server
