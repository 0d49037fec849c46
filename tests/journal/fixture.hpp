#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "journal/file/file_system.hpp"
#include "journal/file_journal.hpp"
#include "support/doctest.hpp"

namespace millrace::journal {

/// Where the segments on the disk begin, oldest first.
std::vector<Lsn> segments_of(FileSystem& files, const std::string& directory);

/// Of the journals on simulated disks.
inline const std::string kDirectory = "/journal";

inline constexpr std::uint64_t kSalt = 0x5eed;
inline constexpr std::uint64_t kStartId = 0x1d;

/// A directory of the real disk that is removed when the test ends.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Small segments, a known salt and a known start.
FileJournalOptions small_segments(std::uint64_t segment_bytes = 512);

/// The same, but a disk failure does not end the process: its text is put into `failure`.
FileJournalOptions surviving(FileJournalOptions options, std::string& failure);

using Batches = std::vector<std::string>;

/// Opens and replays; a problem fails the test.
std::unique_ptr<FileJournal> start(FileSystem& files, const std::string& directory,
                                   const FileJournalOptions& options = small_segments(),
                                   Batches* replayed = nullptr);

/// What a journal of that directory replays; the journal is closed again.
Batches replayed_by(FileSystem& files, const std::string& directory);

/// Why a journal of that directory does not start; empty when it does.
std::string refusal(FileSystem& files, const std::string& directory);

/// Wakes its waiters whenever the journal says that durability has moved.
class DurableBell {
 public:
  explicit DurableBell(Journal& journal);
  ~DurableBell();

  /// True when the journal is durable up to `lsn`, false when that takes 10 seconds.
  [[nodiscard]] bool wait_for(Lsn lsn);

 private:
  Journal& journal_;
  std::mutex mutex_;
  std::condition_variable rung_;
};

/// Appends as the log's leader.
Journal::Span append(Journal& journal, std::string batch);

/// Appends the batches one after the other, each synced before the next.
std::vector<Journal::Span> append_synced(Journal& journal, const Batches& batches);

}  // namespace millrace::journal
