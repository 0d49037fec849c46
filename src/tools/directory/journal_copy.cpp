#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/model/codec.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_survey.hpp"
#include "journal/file_journal.hpp"
#include "tools/directory/check.hpp"
#include "tools/directory/marks.hpp"
#include "tools/directory/places.hpp"

namespace millrace::tools {
namespace {

/// Bytes that a salvage keeps in memory besides one segment.
constexpr std::uint64_t kWaitingBytesMax = std::uint64_t{8} << 20;

/// Small segments, since the copy is checked afterwards, one whole segment at a time.
constexpr std::uint64_t kCopySegmentBytes = std::uint64_t{8} << 20;

/// An empty directory to copy a journal to. Unless `keep` is called, the destructor removes the
/// files in it, and the directory itself if it did not exist before.
class Target {
 public:
  /// A problem when `path` lies in `source`, cannot be created, or is not empty.
  static Outcome<Target> make(journal::FileSystem& files, const std::string& path,
                              const std::string& source) {
    if (const auto readable = files.list(source); !readable) return readable.error();
    if (auto apart = refuse_inside(path, source); !apart) return apart.error();
    std::error_code error;
    const bool was_there = std::filesystem::exists(path, error);
    if (const auto made = files.ensure_directory(path); !made) return made.error();
    const auto names = files.list(path);
    if (!names) return names.error();
    if (!names->empty()) return Problem{path + " is not empty; use a new directory"};
    return Target(path, was_there);
  }

  Target(Target&& other) noexcept
      : path_(std::exchange(other.path_, {})), was_there_(other.was_there_) {}
  Target& operator=(Target&&) = delete;
  ~Target() {
    if (path_.empty()) return;
    std::error_code ignored;
    // What the volume itself keeps is no file of ours.
    const auto names = journal::PosixFileSystem().list(path_);
    if (!names) return;
    for (const std::string& name : *names) std::filesystem::remove(path_ + "/" + name, ignored);
    if (!was_there_) std::filesystem::remove(path_, ignored);
  }

  void keep() { path_.clear(); }

 private:
  Target(std::string path, bool was_there) : path_(std::move(path)), was_there_(was_there) {}

  std::string path_;  ///< empty: the directory is kept
  bool was_there_;
};

/// Counts the records of a batch. A batch that a server would not read has a fault.
journal::BatchTaken read_batch(std::string_view batch) {
  journal::BatchTaken taken;
  while (!batch.empty()) {
    if (const Outcome<Record> record = decode(batch); !record) {
      taken.fault = record.error();
      return taken;
    }
    ++taken.records;
  }
  return taken;
}

/// Copies every undamaged batch, and returns the survey of the journal.
Outcome<journal::Survey> copy_whole(journal::FileSystem& files, const std::string& directory,
                                    const std::string& new_directory) {
  std::optional<Problem> failure;
  journal::FileJournalOptions options;
  options.is_stepped = true;
  options.segment_bytes = kCopySegmentBytes;
  options.on_failure = [&](const Problem& problem) { failure = problem; };
  auto target = journal::FileJournal::open(files, new_directory, std::move(options));
  if (!target) return target.error();
  journal::FileJournal& copy = **target;
  const auto ignore = [](std::string_view, Lsn) -> Outcome<Done> { return Done{}; };
  if (auto begun = copy.replay(ignore); !begun) return begun.error();
  const auto write_all = [&]() -> Outcome<Done> {
    copy.sync();
    if (failure) return *failure;
    if (copy.pending_bytes() > 0)
      return Problem{"not enough disk space for a copy in " + new_directory};
    return Done{};
  };
  const auto take = [&](std::string_view batch, Lsn) -> Outcome<journal::BatchTaken> {
    journal::BatchTaken taken = read_batch(batch);
    if (taken.fault) return taken;
    (void)copy.append(kOnlyEpoch, std::string(batch));
    if (copy.pending_bytes() <= kWaitingBytesMax) return taken;
    const Outcome<Done> written = write_all();
    return written ? Outcome<journal::BatchTaken>(taken) : written.error();
  };
  auto found = journal::survey(files, directory, journal::Purpose::kSalvage, take);
  if (!found) return found;
  const Outcome<Done> written = write_all();
  return written ? std::move(found) : written.error();
}

}  // namespace

Outcome<JournalReport> salvage_journal(const std::string& directory,
                                       const std::string& new_directory) {
  if (auto fit = refuse_unfinished_or_exported(directory); !fit) return fit.error();
  journal::PosixFileSystem files;
  Outcome<Target> made = Target::make(files, new_directory, directory);
  if (!made) return made.error();
  const auto found = copy_whole(files, directory, new_directory);
  if (!found) return found.error();
  Outcome<JournalReport> report = check_journal(new_directory);
  if (!report) return report;
  if (report->damage) return Problem{*report->damage};
  made->keep();
  std::string lost;
  for (const auto& damage : found->damages) lost += "lost: " + journal::text_of(damage) + "\n";
  report->text = "copy " + new_directory + ":\n" + report->text + lost;
  if (lost.empty()) return report;
  const std::size_t losses = found->damages.size();
  report->damage = "not all of " + directory + " could be read: " + std::to_string(losses) +
                   (losses == 1 ? " loss" : " losses") +
                   ", listed in the report; everything else is in " + new_directory;
  return report;
}

}  // namespace millrace::tools
