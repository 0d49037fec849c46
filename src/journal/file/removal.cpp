#include "journal/file/removal.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace millrace::journal {

Removal::Removal(FileSystem& files, std::string directory)
    : files_(files), directory_(std::move(directory)) {}

Outcome<Done> Removal::resume(const std::vector<std::string>& left) {
  for (const std::string& name : left) {
    // All at once: at the start no client waits for a sync.
    const Outcome<Done> removed = files_.remove(directory_ + "/" + name);
    if (!removed) return removed;
  }
  return Done{};
}

/// Renamed first: once the old name is gone for good, no backup can link the file any more, so
/// whether it is shared cannot change.
Outcome<Done> Removal::remove(const std::string& path) {
  std::string removed = directory_ + "/";
  removed += kRemovedPrefix;
  removed += std::to_string(++last_number_);
  Outcome<Done> done = files_.rename(path, removed);
  if (done) done = files_.sync_directory(directory_);
  if (!done) return done;
  const Outcome<bool> is_shared = files_.has_other_name(removed);
  if (!is_shared) return is_shared.error();
  // Cutting it would destroy the backup. Removing the name frees nothing, so it is quick.
  if (*is_shared) return files_.remove(removed);
  const Outcome<std::unique_ptr<File>> file = files_.open(removed, FileSystem::Access::kReadWrite);
  // Without a descriptor it is freed at once.
  if (!file && file.error().is_out_of_space) return files_.remove(removed);
  if (!file) return file.error();
  const Outcome<std::uint64_t> size = (*file)->size();
  if (!size) return size.error();
  // By the file's length, not the log's: preallocated room is freed too.
  bytes_ += *size;
  removed_.push_back({.path = std::move(removed), .bytes = *size});
  return Done{};
}

Outcome<Done> Removal::free(std::uint64_t bytes) {
  // An empty file frees nothing and must still lose its name.
  while (!is_done() && (bytes > 0 || removed_.front().bytes == 0)) {
    Removed& first = removed_.front();
    const std::uint64_t part = std::min(bytes, first.bytes);
    CHECK(part <= bytes_);
    bytes -= part;
    bytes_ -= part;
    first.bytes -= part;
    const Outcome<Done> done = first.bytes > 0 ? cut_first() : drop_first();
    if (!done) return done;
  }
  return Done{};
}

/// One is open at a time, however many wait.
Outcome<Done> Removal::cut_first() {
  if (!first_) {
    Outcome<std::unique_ptr<File>> file =
        files_.open(removed_.front().path, FileSystem::Access::kReadWrite);
    if (!file && file.error().is_out_of_space) {
      bytes_ -= removed_.front().bytes;
      return drop_first();
    }
    if (!file) return file.error();
    first_ = std::move(*file);
  }
  return first_->truncate(removed_.front().bytes);
}

Outcome<Done> Removal::drop_first() {
  first_.reset();
  const std::string path = std::move(removed_.front().path);
  removed_.pop_front();
  return files_.remove(path);
}

}  // namespace millrace::journal
