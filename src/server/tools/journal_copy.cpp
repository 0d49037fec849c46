#include "server/tools/journal_copy.hpp"

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/model/codec.hpp"
#include "journal/file/backup.hpp"
#include "journal/file/file_journal.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_survey.hpp"

namespace millrace::server {
namespace {

/// What a salvage holds in memory beside one segment.
constexpr std::uint64_t kWaitingBytesMax = std::uint64_t{8} << 20;

/// Small ones, since the copy is read again, a segment at a time.
constexpr std::uint64_t kCopySegmentBytes = std::uint64_t{8} << 20;

/// True when `path`, which need not exist, is the directory or something in it, by whatever name.
bool lies_in(const std::string& path, const std::string& directory) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::weakly_canonical(path, error);
  for (; !error && place.has_relative_path(); place = place.parent_path()) {
    std::error_code missing;
    if (std::filesystem::equivalent(place, directory, missing)) return true;
  }
  return false;
}

/// An empty directory, to copy a journal to. It is as it was before, or gone, when this ends
/// without a call of `keep`.
class Target {
 public:
  /// A problem when it lies in `source`, cannot be made, or holds something.
  static Outcome<Target> make(journal::FileSystem& files, const std::string& path,
                              const std::string& source) {
    if (const auto readable = files.list(source); !readable) return readable.error();
    if (lies_in(path, source)) return Problem{path + " must not lie in " + source};
    std::error_code error;
    const bool was_there = std::filesystem::exists(path, error);
    if (const auto made = files.ensure_directory(path); !made) return made.error();
    const auto names = files.list(path);
    if (!names) return names.error();
    if (!names->empty()) return Problem{path + " is not empty"};
    return Target(path, was_there);
  }

  Target(Target&& other) noexcept
      : path_(std::exchange(other.path_, {})), was_there_(other.was_there_) {}
  Target& operator=(Target&&) = delete;
  ~Target() {
    if (path_.empty()) return;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
      std::filesystem::remove(entry.path(), ignored);
    }
    if (!was_there_) std::filesystem::remove(path_, ignored);
  }

  void keep() { path_.clear(); }

 private:
  Target(std::string path, bool was_there) : path_(std::move(path)), was_there_(was_there) {}

  std::string path_;  ///< empty: it stays
  bool was_there_;
};

/// Its records; it has a fault where a server would not read it.
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

/// Copies every batch that is whole, and answers what was found.
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
    if (copy.pending_bytes() > 0) return Problem{"no room for a copy in " + new_directory};
    return Done{};
  };
  const auto take = [&](std::string_view batch, Lsn) -> Outcome<journal::BatchTaken> {
    journal::BatchTaken taken = read_batch(batch);
    if (taken.fault) return taken;
    copy.append(std::string(batch));
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
  report->text = "the copy " + new_directory + ":\n" + report->text + lost;
  if (lost.empty()) return report;
  const std::size_t losses = found->damages.size();
  report->damage = "not all of " + directory + " could be read: " + std::to_string(losses) +
                   (losses == 1 ? " loss" : " losses") + ", named in the report; the rest is in " +
                   new_directory;
  return report;
}

Outcome<JournalReport> back_up_journal(const std::string& directory,
                                       const std::string& destination) {
  journal::PosixFileSystem files;
  Outcome<Target> made = Target::make(files, destination, directory);
  if (!made) return made.error();
  const Outcome<Done> copied = journal::back_up(files, directory, destination);
  if (!copied) return copied.error();
  Outcome<JournalReport> report = check_journal(destination);
  if (report && !report->damage) {
    made->keep();
    return report;
  }
  // What is damaged in the copy is damaged in the journal, and should be named there.
  const Outcome<JournalReport> original = check_journal(directory);
  if (original && original->damage) return Problem{*original->damage};
  return report ? Problem{*report->damage} : report.error();
}

}  // namespace millrace::server
