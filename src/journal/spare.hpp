#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "journal/file_system.hpp"

namespace millrace::journal {

/// The file that does nothing but take space, until it is needed.
inline constexpr const char* kSpareName = "spare";

/// Space of the disk that is kept back for when the disk is full. It is given up a little at a
/// time, and what was not needed is taken back, so that another program that fills the disk gets
/// little of it.
class Spare {
 public:
  /// `files` must outlive it. It is `bytes` long when it is whole; no bytes: there is none.
  Spare(FileSystem& files, std::string directory, std::uint64_t bytes);

  /// Makes it whole, if there is room for that and for `more` bytes beside it. False when there is
  /// not; then it is as before.
  [[nodiscard]] Outcome<bool> take(std::uint64_t more);

  /// Gives that much of it, or a little more, back to the disk. False when nothing was left.
  [[nodiscard]] Outcome<bool> give_up(std::uint64_t bytes);

  /// Takes back of what was given up as much as the disk has room for.
  [[nodiscard]] Outcome<Done> regain();

  /// Whether nothing of it was given up, and there was room for it from the beginning.
  [[nodiscard]] bool is_whole() const { return is_whole_; }

  /// In bytes.
  [[nodiscard]] std::uint64_t held() const { return held_; }

 private:
  [[nodiscard]] Outcome<Done> open();
  [[nodiscard]] Outcome<Done> grow(std::uint64_t bytes);

  FileSystem& files_;
  std::string directory_;
  std::uint64_t bytes_;
  std::uint64_t step_;  ///< what is given up at least, and worth the trouble to take back

  std::unique_ptr<File> file_;  ///< null: not opened yet
  std::uint64_t held_ = 0;      ///< its length
  std::uint64_t most_ = 0;      ///< the longest that it was
  bool is_whole_;
};

}  // namespace millrace::journal
