#include "journal/spare.hpp"

#include <algorithm>
#include <utility>

#include "journal/log_files.hpp"

namespace millrace::journal {

Spare::Spare(FileSystem& files, std::string directory, std::uint64_t bytes, std::uint64_t step)
    : files_(files),
      directory_(std::move(directory)),
      path_(directory_ + "/" + kSpareName),
      bytes_(bytes),
      step_(step),
      is_whole_(bytes == 0) {}

/// What a former process has left is gone on with.
Outcome<Done> Spare::open() {
  if (file_) return Done{};
  Outcome<std::unique_ptr<File>> file = open_or_create(files_, directory_, kSpareName);
  if (!file) return file.error();
  const Outcome<std::uint64_t> size = (*file)->size();
  if (!size) return size.error();
  file_ = std::move(*file);
  held_ = *size;
  return Done{};
}

Outcome<bool> Spare::take(std::uint64_t more) {
  if (is_whole_) return true;
  Outcome<Done> done = open();
  const std::uint64_t before = held_;
  if (done) done = file_->preallocate(bytes_ + more);
  if (!done && !done.error().is_out_of_space) return done.error();
  is_whole_ = bool{done};
  if (file_) {
    // Finding room may have failed half-way.
    held_ = is_whole_ ? bytes_ : before;
    const Outcome<Done> cut = file_->truncate(held_);
    if (!cut) return cut.error();
  }
  return is_whole_;
}

Outcome<bool> Spare::give_up_step() {
  is_whole_ = bytes_ == 0;
  if (!file_) return false;
  held_ -= std::min(held_, step_);
  const Outcome<Done> done = held_ > 0 ? file_->truncate(held_) : files_.remove(path_);
  if (!done) return done.error();
  if (held_ == 0) file_.reset();
  return true;
}

}  // namespace millrace::journal
