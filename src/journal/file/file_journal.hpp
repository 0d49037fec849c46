#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/ports/journal.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_layout.hpp"
#include "journal/file/log_reader.hpp"
#include "journal/file/log_window.hpp"
#include "journal/file/log_writer.hpp"
#include "journal/writer/segment_rooms.hpp"

namespace millrace::journal {

/// What "durable" promises.
enum class SyncMode {
  kAlways,    ///< it survives a power cut
  kInterval,  ///< it survives the end of the process; a power cut, once the interval is over
  kOff,       ///< it survives the end of the process
};

/// The status of a process that ended because its journal could not be written or synced.
inline constexpr int kExitJournalFailed = 3;

/// At least this much of the removed segments is freed at a time, a millisecond apart; and this
/// many times as much as is written meanwhile, so that the files together take no more than before.
inline constexpr std::uint64_t kFreedBytesMin = std::uint64_t{256} << 10;
inline constexpr std::uint64_t kFreePace = 2;

/// Ends the process with that status, at once. Nothing is tidied up, since that could send replies
/// that wait for the journal.
[[noreturn]] void end_process();

struct FileJournalOptions {
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;

  /// How much of the disk is reserved, in segments, so that jobs can still end when the disk is
  /// full. With more than one, compaction can go on too.
  std::uint64_t reserved_segments = 0;

  SyncMode sync_mode = SyncMode::kAlways;
  std::chrono::milliseconds sync_interval{100};  ///< for kInterval

  /// Mixed into the checksums of new segments. nullopt: drawn from the system, so that no client
  /// can guess it and store a body that is taken for a frame.
  std::optional<std::uint64_t> salt = std::nullopt;

  /// Called once, on the writer's thread, when the disk has failed. Empty: writes the problem to
  /// stderr and calls `end_process`. A function that returns leaves a journal that stores nothing
  /// more: `durable()` stays as it is, and `sync` returns at once.
  std::function<void(const Problem&)> on_failure = {};

  /// The writer has no thread of its own: the caller runs it with `step`. So a simulation can
  /// choose every order of events, and repeat it.
  bool is_stepped = false;
};

/// The log in a directory of segment files (docs/journal-format.md).
///
/// A thread of its own takes whatever has been appended, writes it with one call and syncs it once,
/// while the next batches collect. In every sync mode, a segment is synced before the next one
/// begins, and everything is synced before a segment is removed.
///
/// A full disk is no failure: the reserve is used, and `is_full` says so. When the reserve is used
/// up too, batches wait in memory until there is room again. The journal looks for room every
/// second, and reserves at once what has become free.
class FileJournal final : public Journal, public DiskSpace {
 public:
  /// Locks the directory, created when missing, for as long as the journal lives, and checks the
  /// headers of the segments. Changes no segment: `replay` does, once it has read everything.
  /// `files` must outlive the journal.
  static Outcome<std::unique_ptr<FileJournal>> open(FileSystem& files, std::string directory,
                                                    FileJournalOptions options);

  /// Writes and syncs what was appended.
  ~FileJournal() override;

  FileJournal(const FileJournal&) = delete;
  FileJournal& operator=(const FileJournal&) = delete;

  [[nodiscard]] Outcome<Done> replay(const Visitor& visitor) override;

  /// The directory's lock keeps every other process out, so nobody else can lead.
  [[nodiscard]] Epoch epoch() const override { return kOnlyEpoch; }
  [[nodiscard]] Result<Span, Deposed> append(Epoch epoch, std::string batch) override;
  [[nodiscard]] Lsn durable() const override;

  /// When it returns, the `wake` set before is not running and will not run again. `wake` may call
  /// `durable` and nothing else of the journal.
  void on_durable(std::function<void()> wake) override;

  [[nodiscard]] Outcome<std::string> read(Lsn begin, std::size_t size) override;

  void expect(Lsn begin, std::size_t size) override;
  [[nodiscard]] Extent extent() const override;

  /// The files are removed later, on the writer's thread, when everything appended up to now has
  /// been synced.
  std::size_t trim(Lsn before) override;

  void sync() override;
  [[nodiscard]] const DiskSpace* disk_space() const override { return this; }

  [[nodiscard]] bool is_full() const override;
  [[nodiscard]] std::uint64_t log_bytes_max() const override;
  [[nodiscard]] bool is_oldest_shared() const override;
  [[nodiscard]] std::size_t segment_count() const override { return layout_.segment_count(); }

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
  [[nodiscard]] std::uint64_t pending_bytes() const;

  /// False when the log did not say which segments it must have, so that one missing at an end of
  /// the log is not noticed.
  [[nodiscard]] bool had_extent() const { return had_extent_; }

  /// How many bytes `replay` cut off as a torn tail.
  [[nodiscard]] std::uint64_t cut_bytes() const { return cut_bytes_; }

 private:
  /// What the writer's thread does at a time. It is taken under the mutex, as one.
  struct Round {
    std::vector<Lsn> removals;
    Lsn oldest_kept = 0;  ///< the oldest segment afterwards
    bool must_sync = false;
    bool is_last = false;
  };

  FileJournal(FileSystem& files, std::string directory, FileJournalOptions options,
              std::unique_ptr<Lock> lock, LogReader reader);

  [[nodiscard]] const PlacedBatch* find_in_memory(Lsn begin, std::size_t size) const;

  void run();
  Round next_round();
  Round take_round(bool is_sync_due);
  bool work(const Round& round);
  [[nodiscard]] bool has_work() const;
  [[nodiscard]] Outcome<Done> carry_out(const Round& round);
  [[nodiscard]] Outcome<Done> remove(const std::vector<Lsn>& segments, Lsn oldest_kept);
  [[nodiscard]] Outcome<Done> write_in_flight();
  [[nodiscard]] Outcome<bool> wait_for_room();
  [[nodiscard]] Outcome<Done> free_some(std::uint64_t written);
  [[nodiscard]] Outcome<Done> look_for_room();
  [[nodiscard]] Outcome<Done> look_at_oldest();
  void set_full(bool is_full);
  void tell_rooms();
  void wake();
  void publish(Lsn durable);
  void finish_round();
  void fail(const Problem& problem);

  FileSystem& files_;
  const std::string directory_;
  const FileJournalOptions options_;
  const std::unique_ptr<Lock> lock_;

  SegmentRooms rooms_;  ///< any thread's

  // The caller's.
  std::optional<LogReader> reader_;  ///< until it has been replayed
  bool is_started_ = false;          ///< it has been replayed, and can be appended to
  std::uint64_t cut_bytes_ = 0;
  bool had_extent_ = true;
  LogLayout layout_;
  LogWindow window_;

  // The writer's, once the log has been replayed.
  LogWriter writer_;
  std::vector<PlacedBatch> finished_;
  std::optional<Round> unfinished_;  ///< when stepped: it found no room, and is to be tried again
  std::chrono::steady_clock::time_point
      sync_by_{};  ///< kInterval: when what is written must be synced
  std::chrono::steady_clock::time_point look_by_{};  ///< full: when to look for room again
  std::chrono::steady_clock::time_point free_by_{};  ///< when to free more of what was removed
  std::uint64_t to_free_ = 0;  ///< what must be freed for what was written since

  // Between the two.
  std::atomic<Lsn> durable_ = 0;
  std::atomic<std::uint64_t> pending_bytes_ = 0;
  std::atomic<bool> is_full_ = false;
  std::atomic<std::uint64_t> log_bytes_max_ = 0;
  std::atomic<bool> is_oldest_shared_ = false;  ///< looked at while the disk is full
  std::mutex mutex_;
  std::condition_variable work_;        ///< for the writer
  std::condition_variable synced_;      ///< for `sync`
  std::vector<PlacedBatch> pending_;    ///< appended, not yet taken
  std::vector<PlacedBatch> in_flight_;  ///< taken; changed by the writer only, under the mutex
  std::vector<Lsn> removals_;
  bool must_not_wait_ = false;  ///< for room any longer
  Lsn oldest_kept_ = 0;
  Lsn sync_asked_ = 0;
  Lsn sync_done_ = 0;
  bool is_stopping_ = false;
  bool has_failed_ = false;

  std::mutex wake_mutex_;
  std::function<void()> wake_;

  std::thread thread_;
};

}  // namespace millrace::journal
