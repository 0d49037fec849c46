#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/result.hpp"
#include "journal/posix/descriptor.hpp"

namespace millrace::server {

/// A new folder that nobody else can read. It goes with this, and with all that is in it.
class TemporaryFolder {
 public:
  /// In `parent`, with a name that begins with `name`.
  [[nodiscard]] static Outcome<TemporaryFolder> make(const std::string& parent,
                                                     std::string_view name) {
    std::string path = parent + "/" + std::string(name) + "-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return journal::failed_to("create", path, errno);
    return TemporaryFolder(std::move(path));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string in(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace millrace::server
