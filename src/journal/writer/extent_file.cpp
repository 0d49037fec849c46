#include "journal/writer/extent_file.hpp"

#include <string_view>
#include <utility>

#include "journal/file/log_files.hpp"

namespace millrace::journal {

ExtentFile::ExtentFile(FileSystem& files, const std::string& directory)
    : files_(files), directory_(directory), path_(directory + "/" + kExtentName) {}

Outcome<Done> ExtentFile::note(const LogExtent& extent) {
  const Outcome<Done> written = write(extent);
  if (written || !written.error().is_out_of_space) return written;
  file_.reset();
  if (!exists_) return Done{};
  const Outcome<Done> removed = files_.remove(path_);
  if (!removed) return removed;
  exists_ = false;
  return files_.sync_directory(directory_);
}

Outcome<Done> ExtentFile::write(const LogExtent& extent) {
  const bool is_new = !file_;
  if (is_new) {
    const Outcome<Done> opened = open();
    if (!opened) return opened;
  }
  const auto encoded = encode_extent(extent);
  const std::string_view part(encoded.data(), encoded.size());
  Outcome<Done> done = file_->write(0, {&part, 1});
  if (done) done = file_->sync();
  if (done && is_new) done = files_.sync_directory(directory_);
  return done;
}

Outcome<Done> ExtentFile::open() {
  Outcome<std::unique_ptr<File>> file =
      exists_ ? files_.open(path_, FileSystem::Access::kReadWrite) : files_.create(path_);
  if (!file) return file.error();
  file_ = std::move(*file);
  exists_ = true;
  return Done{};
}

}  // namespace millrace::journal
