#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/ports/journal.hpp"
#include "journal/file/file_journal_options.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_reader.hpp"
#include "journal/file/log_window.hpp"
#include "journal/writer/log_layout.hpp"
#include "journal/writer/write_queue.hpp"
#include "journal/writer/writer_loop.hpp"
#include "journal/writer/writer_status.hpp"

namespace millrace::journal {

/// The status of a process that ended because its journal could not be written or synced.
inline constexpr int kExitJournalFailed = 3;

/// Ends the process with that status, at once. Nothing is tidied up, since that could send replies
/// that wait for the journal.
[[noreturn]] void end_process();

/// The log in a directory of segment files (docs/internals/journal-format.md).
///
/// A thread of its own takes whatever has been appended, writes it with one call and syncs it once,
/// while the next batches collect. In every sync mode, a segment is synced before the next one
/// begins, and everything is synced before a segment is removed.
///
/// A full disk is no failure: the reserve is used, and `is_full` says so. When the reserve is used
/// up too, batches wait in memory until there is room again. The journal looks for room every
/// second, and reserves at once what has become free.
///
/// The journal fails, as with a disk, when its directory is taken away: when it is moved, deleted
/// or replaced, or the file `lock` in it.
class FileJournal final : public Journal, public DiskSpace {
 public:
  /// Locks the directory, created when missing, for as long as the journal lives, and checks the
  /// headers of the segments. Changes no segment: `replay` does, once it has read everything.
  /// `files` must outlive the journal.
  static Outcome<std::unique_ptr<FileJournal>> open(FileSystem& files, const std::string& directory,
                                                    FileJournalOptions options);

  /// Writes and syncs what was appended.
  ~FileJournal() override;

  FileJournal(const FileJournal&) = delete;
  FileJournal& operator=(const FileJournal&) = delete;

  [[nodiscard]] Outcome<Done> replay(const Visitor& visitor) override;

  /// The directory's lock keeps every other process out, so nobody else can lead.
  [[nodiscard]] Epoch epoch() const override { return kOnlyEpoch; }
  [[nodiscard]] Durability durability() const override {
    return options_.sync_mode == SyncMode::kAlways ? Durability::kWhenSynced
                                                   : Durability::kWhenWritten;
  }
  [[nodiscard]] Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override;
  [[nodiscard]] Result<Span, Deposed> append_unhurried(Epoch epoch, RecordBatch batch) override;
  void hurry() override { queue_.hurry(); }
  [[nodiscard]] Lsn durable() const override { return status_.durable(); }

  /// When it returns, the `wake` set before is not running and will not run again. `wake` may call
  /// `durable` and nothing else of the journal.
  void on_durable(std::function<void()> wake) override;

  [[nodiscard]] Outcome<std::string> read(Lsn begin, std::size_t size) override;

  void expect(Lsn begin, std::size_t size) override;
  [[nodiscard]] Extent extent() const override;

  /// The files are removed later, on the writer's thread, when everything appended up to now has
  /// been synced.
  std::size_t trim(Lsn before) override;
  bool leave_behind(Lsn damage_end) override;

  void sync() override;

  /// The same for what ends at `end` or before, which is released.
  void sync_until(Lsn end);
  [[nodiscard]] const DiskSpace* disk_space() const override { return this; }

  [[nodiscard]] bool is_full() const override { return status_.is_full(); }
  [[nodiscard]] std::string problem() const override { return status_.problem(); }
  [[nodiscard]] std::uint64_t log_bytes_max() const override { return status_.log_bytes_max(); }
  [[nodiscard]] bool is_oldest_shared() const override { return status_.is_oldest_shared(); }
  [[nodiscard]] std::size_t segment_count() const override { return layout_.segment_count(); }

  /// Nothing that was appended and ends beyond `end` is written until this is called again with a
  /// later one; at the end it is dropped. Any thread may call.
  void release(Lsn end) { queue_.release(end); }

  /// Does one round of the writer in the caller's thread. False when there is nothing to do, when
  /// the disk has failed, or when it has no room at all: then the next step tries again. On a full
  /// disk each step looks for room. What is appended during the step (by the file system that it
  /// calls) is left for the next one, as with a thread. With `kInterval`, the caller says when the
  /// interval is over. Only with `is_stepped`.
  enum class Interval { kGoesOn, kIsOver };
  bool step(Interval interval = Interval::kGoesOn);

  /// Where the synced part of the log ends; except with `kAlways`, that can be before `durable`.
  /// Only with `is_stepped`.
  [[nodiscard]] Lsn synced() const { return writer_.synced(); }

  /// How many bytes were appended and are not durable yet. They are in memory.
  [[nodiscard]] std::uint64_t pending_bytes() const { return queue_.pending_bytes(); }

  /// False when the log did not say which segments it must have, so that one missing at an end of
  /// the log is not noticed.
  [[nodiscard]] bool had_extent() const { return had_extent_; }

  /// False when it was not known who wrote the log: a backup of before is not continued. A log that
  /// is new has them.
  [[nodiscard]] bool had_starts() const { return had_starts_; }

  /// False when only the file `lock` keeps other processes out: see `Lock::is_on_directory`.
  [[nodiscard]] bool locks_directory() const { return lock_->is_on_directory(); }

  /// How many bytes `replay` cut off as a torn tail.
  [[nodiscard]] std::uint64_t cut_bytes() const { return cut_bytes_; }

 private:
  FileJournal(FileSystem& files, const std::string& directory, FileJournalOptions options,
              std::unique_ptr<Lock> lock, LogReader reader);
  [[nodiscard]] PlacedBatch place(RecordBatch&& batch);

  const FileJournalOptions options_;
  const std::unique_ptr<Lock> lock_;

  // The caller's.
  std::optional<LogReader> reader_;  ///< until it has been replayed
  bool is_started_ = false;          ///< it has been replayed, and can be appended to
  std::uint64_t cut_bytes_ = 0;
  bool had_extent_ = true;
  bool had_starts_ = true;
  LogLayout layout_;
  LogWindow window_;

  // Between the two threads; each locks for itself.
  WriteQueue queue_;     ///< from the caller to the writer
  WriterStatus status_;  ///< from the writer to the caller
  SegmentRooms rooms_;   ///< the same

  // The writer's, once the log has been replayed.
  WriterLoop writer_;
  std::thread thread_;  ///< none when stepped
};

}  // namespace millrace::journal
