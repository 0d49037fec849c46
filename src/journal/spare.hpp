#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "journal/file_system.hpp"

namespace millrace::journal {

/// The file that does nothing but take space, until it is needed.
inline constexpr const char* kSpareName = "spare";

/// Space of the disk that is kept back for when the disk is full. It is given up a step at a time,
/// so that another program that fills the disk cannot have it all at once.
class Spare {
 public:
  /// `files` must outlive it. It is `bytes` long when it is whole; no bytes: there is none.
  Spare(FileSystem& files, std::string directory, std::uint64_t bytes, std::uint64_t step);

  /// Makes it whole, and sees whether there is room for `more` bytes beside it. False when there is
  /// not; then it is as before.
  [[nodiscard]] Outcome<bool> take(std::uint64_t more);

  /// Gives a step of it back to the disk. False when nothing was left.
  [[nodiscard]] Outcome<bool> give_up_step();

  /// Whether nothing of it was given up, and there was room for it from the beginning.
  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  [[nodiscard]] Outcome<Done> open();

  FileSystem& files_;
  std::string directory_;
  std::string path_;
  std::uint64_t bytes_;
  std::uint64_t step_;

  std::unique_ptr<File> file_;  ///< null: there is none
  std::uint64_t held_ = 0;      ///< its length
  bool is_whole_;
};

}  // namespace millrace::journal
