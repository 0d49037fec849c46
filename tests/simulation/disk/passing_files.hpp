#pragma once

#include <memory>
#include <string>
#include <vector>

#include "journal/file/file_system.hpp"

namespace millrace::simulation {

/// A file system that does as another one does.
class PassingFiles : public journal::FileSystem {
 public:
  explicit PassingFiles(FileSystem& files) : files_(files) {}

  Outcome<Done> ensure_directory(const std::string& path) override {
    return files_.ensure_directory(path);
  }
  Outcome<std::vector<std::string>> list(const std::string& directory) override {
    return files_.list(directory);
  }
  Outcome<std::unique_ptr<journal::File>> create(const std::string& path) override {
    return files_.create(path);
  }
  Outcome<std::unique_ptr<journal::File>> open(const std::string& path, Access access) override {
    return files_.open(path, access);
  }
  Outcome<Done> link(const std::string& path, const std::string& new_path) override {
    return files_.link(path, new_path);
  }
  Outcome<Done> rename(const std::string& path, const std::string& new_path) override {
    return files_.rename(path, new_path);
  }
  Outcome<bool> has_other_name(const std::string& path) override {
    return files_.has_other_name(path);
  }
  Outcome<Done> remove(const std::string& path) override { return files_.remove(path); }
  Outcome<std::uint64_t> free_space(const std::string& directory) override {
    return files_.free_space(directory);
  }
  Outcome<Done> sync_directory(const std::string& path) override {
    return files_.sync_directory(path);
  }
  Outcome<std::unique_ptr<journal::Lock>> lock(const std::string& directory) override {
    return files_.lock(directory);
  }

 protected:
  FileSystem& files_;
};

}  // namespace millrace::simulation
