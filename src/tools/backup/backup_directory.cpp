#include "tools/backup/backup_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "tools/backup/backup_files.hpp"
#include "tools/backup/new_segments.hpp"
#include "tools/directory/places.hpp"

namespace millrace::tools {
namespace {

constexpr std::string_view kLockName = "lock";
constexpr std::string_view kDraftEnd = ".part";

/// What a backup that was begun may have left.
bool is_of_backup(std::string_view name) {
  return name == journal::kExtentName || name == kLockName || name == kManifestName ||
         name.ends_with(kDraftEnd) || journal::parse_segment_name(name);
}

/// All files are there, by their sizes: a backup that needs an earlier one does not grow. What is
/// in them, `restore` and `check` compare.
Outcome<Done> check_files(const std::string& path, const BackupManifest& manifest) {
  const std::string first = path + "/" + journal::segment_name(manifest.files.front().first);
  std::error_code error;
  std::vector<std::string> wrong;
  if (!std::filesystem::exists(first, error)) wrong.push_back(first + " is missing");
  if (wrong.empty()) wrong = look_at_files(path, manifest);
  if (wrong.empty()) return Done{};
  return Problem{wrong.front() + ": use a new directory"};
}

}  // namespace

Outcome<BackupDirectory> BackupDirectory::open(const std::string& path, const std::string& source,
                                               bool is_longer) {
  if (auto apart = refuse_inside(path, source); !apart) return apart.error();
  std::error_code error;
  // Of a link to what is not there, the link is.
  const bool was_there = std::filesystem::exists(std::filesystem::symlink_status(path, error));
  BackupDirectory directory(path, was_there);
  if (auto made = directory.files_->ensure_directory(path); !made) return made.error();
  if (auto begun = directory.begin(is_longer); !begun) return begun.error();
  return directory;
}

Outcome<Done> BackupDirectory::begin(bool is_longer) {
  const auto names = files_->list(path_);
  if (!names) return names.error();
  const std::string manifest = path_ + "/" + kManifestName;
  const bool is_begun = std::ranges::find(*names, journal::draft_of(kManifestName)) != names->end();
  const bool is_whole = std::ranges::find(*names, kManifestName) != names->end();
  const bool is_empty =
      std::ranges::all_of(*names, [](const std::string& name) { return name == kLockName; });
  const bool has_others =
      !std::ranges::all_of(*names, [](const std::string& name) { return is_of_backup(name); });
  if (is_whole && !is_longer) {
    return Problem{path_ + " has a backup already: add to it with --since " + path_ +
                   ", or use a new directory"};
  }
  if (!is_whole && !is_empty && (!is_begun || has_others)) {
    return Problem{path_ + " is not empty; use a new directory"};
  }
  auto lock = files_->lock(path_);
  if (!lock) return lock.error();
  lock_ = std::move(*lock);
  if (is_whole) {
    auto before = read_manifest(manifest);
    if (!before) return before.error();
    before_ = std::move(*before);
    return check_files(path_, *before_);
  }
  is_ours_ = true;
  if (is_begun) return Done{};
  // While there is only this, the directory is known for a backup that is not whole.
  const auto draft = files_->create(journal::draft_of(manifest));
  return draft ? files_->sync_directory(path_) : draft.error();
}

BackupDirectory::BackupDirectory(BackupDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      was_there_(other.was_there_),
      is_ours_(std::exchange(other.is_ours_, false)),
      files_(std::move(other.files_)),
      lock_(std::move(other.lock_)),
      before_(std::move(other.before_)) {
  other.was_there_ = true;
}

BackupDirectory::~BackupDirectory() {
  lock_.reset();
  std::error_code ignored;
  if (is_ours_) remove_others(nullptr);
  // Only an empty one.
  if (!was_there_) std::filesystem::remove(path_, ignored);
}

/// Null: nothing is left.
void BackupDirectory::remove_others(const BackupManifest* manifest) const {
  std::error_code ignored;
  std::vector<std::filesystem::path> removed;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    const std::string name = entry.path().filename();
    const auto first = journal::parse_segment_name(name);
    const bool is_listed = manifest != nullptr && first && manifest->find(*first) != nullptr;
    const bool goes = manifest == nullptr ? is_of_backup(name)
                                          : (first && !is_listed) || name.ends_with(kDraftEnd);
    if (goes) removed.push_back(entry.path());
  }
  for (const auto& path : removed) std::filesystem::remove(path, ignored);
}

Outcome<Done> BackupDirectory::finish(const BackupManifest& manifest, Lsn first) {
  Outcome<Done> done = journal::write_extent(
      *files_, path_, {.oldest = first, .newest = manifest.files.back().first});
  if (done) done = files_->sync_directory(path_);
  if (done) done = journal::replace_file(*files_, path_ + "/" + kManifestName, encode(manifest));
  if (!done) return done;
  is_ours_ = false;
  was_there_ = true;
  remove_others(&manifest);
  return files_->sync_directory(path_);
}

}  // namespace millrace::tools
