#include "journal/shared/cache_directory.hpp"

#include <algorithm>
#include <string_view>

#include "journal/file/log_files.hpp"
#include "journal/file/log_starts.hpp"

namespace millrace::journal {
namespace {

constexpr std::string_view kMark = "cache";
constexpr std::string_view kBrokenMark = "broken";
constexpr std::string_view kMovedMark = "moved";
const std::string kMovedText = "The jobs of this journal were moved to the log ";
constexpr std::uint64_t kMovedBytesMax = 64 * 1024;
constexpr std::string_view kMarkText =
    "The journal in this directory is a cache of a log that several servers share.\n";

bool is_segment(const std::string& name) {
  return name.ends_with(".log");
}

/// docs/internals/journal-format.md lists the names.
bool is_of_journal(const std::string& name) {
  return is_segment(name) || name == kBrokenMark || name == kExtentName || name == kStartsName ||
         name.starts_with("spare-") || name.starts_with("removed-");
}

Outcome<Done> write_mark(FileSystem& files, const std::string& directory, std::string_view name,
                         std::string_view text) {
  const auto written = write_new(files, directory + "/" + std::string(name), text);
  return written ? files.sync_directory(directory) : written;
}

}  // namespace

Outcome<DirectoryContent> look_into(FileSystem& files, const std::string& directory) {
  const auto ensured = files.ensure_directory(directory);
  if (!ensured) return ensured.error();
  const auto names = files.list(directory);
  if (!names) return names.error();
  const bool is_broken = std::ranges::find(*names, kBrokenMark) != names->end();
  if (std::ranges::find(*names, kMark) != names->end()) {
    return is_broken ? DirectoryContent::kBrokenCache : DirectoryContent::kCache;
  }
  if (!std::ranges::any_of(*names, is_segment)) return DirectoryContent::kNothing;
  const bool was_moved = std::ranges::find(*names, kMovedMark) != names->end();
  return was_moved ? DirectoryContent::kMoved : DirectoryContent::kJournal;
}

Outcome<Done> mark_as_cache(FileSystem& files, const std::string& directory) {
  return write_mark(files, directory, kMark, kMarkText);
}

Outcome<Done> unmark_cache(FileSystem& files, const std::string& directory) {
  if (auto removed = files.remove(directory + "/" + std::string(kMark)); !removed) return removed;
  return files.sync_directory(directory);
}

Outcome<Done> mark_as_moved(FileSystem& files, const std::string& directory,
                            const std::string& log) {
  const std::string path = directory + "/" + std::string(kMovedMark);
  const auto present = moved_to(files, directory);
  if (!present) return present.error();
  if (*present == log) {
    // Whoever wrote it may have ended before it was on the disk.
    const auto file = files.open(path, FileSystem::Access::kReadWrite);
    if (!file) return file.error();
    if (auto synced = (*file)->sync(); !synced) return synced;
    return files.sync_directory(directory);
  }
  return write_mark(files, directory, kMovedMark, kMovedText + log + "\n");
}

Outcome<std::string> moved_to(FileSystem& files, const std::string& directory) {
  const auto names = files.list(directory);
  if (!names) return names.error();
  if (std::ranges::find(*names, kMovedMark) == names->end()) return std::string();
  const auto text = read_up_to(files, directory + "/" + std::string(kMovedMark), kMovedBytesMax);
  if (!text) return text.error();
  if (!text->starts_with(kMovedText) || !text->ends_with('\n')) return std::string();
  return text->substr(kMovedText.size(), text->size() - kMovedText.size() - 1);
}

void mark_as_broken(FileSystem& files, const std::string& directory) {
  const auto file = files.create(directory + "/" + std::string(kBrokenMark));
  if (file) (void)(*file)->sync();
  (void)files.sync_directory(directory);
}

Outcome<Done> empty_cache(FileSystem& files, const std::string& directory) {
  const auto names = files.list(directory);
  if (!names) return names.error();
  if (std::ranges::find(*names, kMark) == names->end()) {
    return Problem{directory + " is not marked as a cache any more, so nothing in it is removed"};
  }
  // A power cut may leave any of the files: until all are gone for good, it says that it is broken.
  mark_as_broken(files, directory);
  for (const std::string& name : *names) {
    if (!is_of_journal(name) || name == kBrokenMark) continue;
    if (auto removed = files.remove(directory + "/" + name); !removed) return removed;
  }
  if (auto synced = files.sync_directory(directory); !synced) return synced;
  // A full disk may have had no room for it.
  if (auto content = look_into(files, directory);
      !content || *content != DirectoryContent::kBrokenCache) {
    return content ? Outcome<Done>(Done{}) : content.error();
  }
  auto removed = files.remove(directory + "/" + std::string(kBrokenMark));
  return removed ? files.sync_directory(directory) : removed;
}

}  // namespace millrace::journal
