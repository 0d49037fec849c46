#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace millrace {

/// A directory of its own for one test, gone afterwards.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string path(std::string_view name) const;

  /// Writes a file that only its owner may read; answers its path.
  std::string write(std::string_view name, std::string_view text) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace millrace
