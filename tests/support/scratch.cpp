#include "support/scratch.hpp"

#include <cstdlib>
#include <fstream>

#include "support/doctest.hpp"

namespace millrace {

Scratch::Scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  directory_ = name;
}

Scratch::~Scratch() {
  std::filesystem::remove_all(directory_);
}

std::string Scratch::path(std::string_view name) const {
  return (directory_ / name).string();
}

std::string Scratch::write(std::string_view name, std::string_view text) const {
  const std::string file = path(name);
  std::ofstream(file) << text;
  std::filesystem::permissions(
      file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  return file;
}

}  // namespace millrace
