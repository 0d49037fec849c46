#include "journal/removal.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "journal/log_files.hpp"

namespace millrace::journal {

Removal::Removal(FileSystem& files, std::string directory)
    : files_(files), directory_(std::move(directory)) {}

Outcome<Done> Removal::resume() {
  const Outcome<std::vector<std::string>> names = files_.list(directory_);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (!is_numbered(name, kRemovedPrefix)) continue;
    const Outcome<Done> removed = files_.remove(directory_ + "/" + name);
    if (!removed) return removed;
  }
  return Done{};
}

/// Nobody can give it a further name once this one is gone for good.
Outcome<Done> Removal::remove(const std::string& path) {
  std::string removed = directory_ + "/";
  removed += kRemovedPrefix;
  removed += std::to_string(++last_number_);
  Outcome<Done> done = files_.rename(path, removed);
  if (done) done = files_.sync_directory(directory_);
  if (!done) return done;
  const Outcome<bool> is_shared = files_.has_other_name(removed);
  if (!is_shared) return is_shared.error();
  if (*is_shared) return files_.remove(removed);
  Outcome<std::unique_ptr<File>> file = files_.open(removed, FileSystem::Access::kReadWrite);
  if (!file) return file.error();
  const Outcome<std::uint64_t> size = (*file)->size();
  if (!size) return size.error();
  bytes_ += *size;
  removed_.push_back({.path = std::move(removed), .file = std::move(*file), .bytes = *size});
  return Done{};
}

Outcome<Done> Removal::go_on() {
  return free(std::max(kFreedBytesMin, bytes_ / kFreedPart));
}

Outcome<Done> Removal::finish() {
  return free(bytes_);
}

/// Of which nothing is left, loses its last name too.
Outcome<Done> Removal::free(std::uint64_t bytes) {
  while (!is_done() && (bytes > 0 || removed_.front().bytes == 0)) {
    Removed& first = removed_.front();
    const std::uint64_t part = std::min(bytes, first.bytes);
    bytes -= part;
    bytes_ -= part;
    first.bytes -= part;
    if (first.bytes > 0) return first.file->truncate(first.bytes);
    const std::string path = std::move(first.path);
    removed_.pop_front();
    const Outcome<Done> done = files_.remove(path);
    if (!done) return done;
  }
  return Done{};
}

}  // namespace millrace::journal
