#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "journal/file/file_system.hpp"

namespace millrace::journal {

/// The names of files that are being freed begin with this; a number follows.
inline constexpr std::string_view kRemovedPrefix = "removed-";

/// Removes files and frees their room a little at a time. A file system that frees a whole segment
/// at once keeps every sync waiting: 25 to 75 ms for 64 MiB of ext4
/// (docs/internals/decisions/journal-and-compaction.md).
///
/// The caller frees at least as much as is written meanwhile. So the files together do not grow.
class Removal {
 public:
  /// `files` must outlive it.
  Removal(FileSystem& files, std::string directory);

  /// Removes at once the files that a former process has left, by their names in the directory. To
  /// be called before `remove`.
  [[nodiscard]] Outcome<Done> resume(const std::vector<std::string>& left);

  /// Takes that name from the file for good; its room is free when `is_done()`. A file that has
  /// another name too keeps that name and its contents.
  [[nodiscard]] Outcome<Done> remove(const std::string& path);

  /// Frees that many bytes of what is left.
  [[nodiscard]] Outcome<Done> free(std::uint64_t bytes);

  /// Frees all that is left.
  [[nodiscard]] Outcome<Done> finish() { return free(bytes_); }

  [[nodiscard]] bool is_done() const { return removed_.empty(); }

  /// How much is left, in bytes.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Removed {
    std::string path;
    std::uint64_t bytes = 0;  ///< its length
  };

  [[nodiscard]] Outcome<Done> cut_first();
  [[nodiscard]] Outcome<Done> drop_first();

  FileSystem& files_;
  std::string directory_;
  std::deque<Removed> removed_;
  std::unique_ptr<File> first_;  ///< null: it is not open
  std::uint64_t bytes_ = 0;      ///< of all of them
  std::uint64_t last_number_ = 0;
};

}  // namespace millrace::journal
