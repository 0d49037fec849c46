#include "journal/spare.hpp"

#include <algorithm>
#include <utility>

#include "journal/log_files.hpp"

namespace millrace::journal {
namespace {

constexpr std::uint64_t kStepBytesMax = std::uint64_t{64} << 10;
constexpr std::uint64_t kStepsMin = 48;

/// Of what is free, this part is left: file systems need some to note the rest.
constexpr std::uint64_t kLeftPart = 64;

}  // namespace

Spare::Spare(FileSystem& files, std::string directory, std::uint64_t bytes)
    : files_(files),
      directory_(std::move(directory)),
      bytes_(bytes),
      step_(std::min(kStepBytesMax, bytes / kStepsMin)),
      is_whole_(bytes == 0) {}

/// What a former process has left is gone on with.
Outcome<Done> Spare::open() {
  if (file_) return Done{};
  Outcome<std::unique_ptr<File>> file = open_or_create(files_, directory_, kSpareName);
  if (!file) return file.error();
  const Outcome<std::uint64_t> size = (*file)->size();
  if (!size) return size.error();
  file_ = std::move(*file);
  held_ = most_ = *size;
  return Done{};
}

/// Leaves it as it is where there is no room for that.
Outcome<Done> Spare::grow(std::uint64_t bytes) {
  const Outcome<Done> done = file_->preallocate(bytes);
  if (done) {
    held_ = bytes;
    most_ = std::max(most_, bytes);
    return Done{};
  }
  if (!done.error().is_out_of_space) return done;
  // Finding room may have failed half-way.
  return file_->truncate(held_);
}

Outcome<bool> Spare::take(std::uint64_t more) {
  if (is_whole_) return true;
  const Outcome<Done> opened = open();
  if (!opened && opened.error().is_out_of_space) return false;
  if (!opened) return opened.error();
  const Outcome<std::uint64_t> free = files_.free_space(directory_);
  if (!free) return free.error();
  if (*free < more + bytes_ - std::min(held_, bytes_)) return false;
  Outcome<Done> done = held_ < bytes_ ? grow(bytes_) : file_->truncate(bytes_);
  if (!done) return done.error();
  if (held_ > bytes_) held_ = bytes_;
  is_whole_ = held_ == bytes_;
  return is_whole_;
}

Outcome<bool> Spare::give_up(std::uint64_t bytes) {
  is_whole_ = bytes_ == 0;
  if (held_ == 0) return false;
  held_ -= std::min(held_, std::max(bytes, step_));
  const Outcome<Done> done = file_->truncate(held_);
  if (!done) return done.error();
  return true;
}

Outcome<Done> Spare::regain() {
  const std::uint64_t missing = std::min(most_, bytes_) - std::min(most_, held_);
  if (!file_ || missing == 0) return Done{};
  const Outcome<std::uint64_t> free = files_.free_space(directory_);
  if (!free) return free.error();
  const std::uint64_t there = *free - *free / kLeftPart;
  const std::uint64_t regained = std::min(missing, there);
  if (regained < std::min(missing, step_)) return Done{};
  return grow(held_ + regained);
}

}  // namespace millrace::journal
