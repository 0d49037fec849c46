#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "journal/file/file_journal_options.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_reader.hpp"
#include "journal/writer/log_layout.hpp"
#include "journal/writer/log_writer.hpp"
#include "journal/writer/space_watch.hpp"
#include "journal/writer/write_queue.hpp"
#include "journal/writer/writer_status.hpp"

namespace millrace::journal {

/// What the writer's thread does: takes rounds from the queue, writes each with one call, syncs it
/// once, and tells how far the log is durable. Then, when nobody waits for the round any more, it
/// frees removed segments and looks for room on a full disk.
///
/// Every 10 ms, before it tells, it makes sure that the directory is still locked (`Lock::check`);
/// twice a second when there is nothing to tell. Where it is not, that is a failure of the disk.
///
/// Belongs to one thread: that of the replay until `begin` returns, then that of `run`, or of
/// `step`.
class WriterLoop {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Clock = Time (*)();

  /// What it shares with the caller's thread. All must outlive the loop.
  struct Shared {
    WriteQueue& queue;
    WriterStatus& status;
    SegmentRooms& rooms;
    Lock& lock;  ///< of the directory
  };

  /// `files` and `options` must outlive the loop. All that may be left out of the options must be
  /// set.
  WriterLoop(FileSystem& files, const std::string& directory, const FileJournalOptions& options,
             Shared shared, Clock now);

  /// Makes the log found by a replay ready to be continued, and takes the reserve.
  [[nodiscard]] Outcome<Done> begin(const LogReader& reader, const LogEnd& log);

  /// Returns after the last round, or when the disk has failed.
  void run();

  /// One round, when the options say `is_stepped`. False when there is nothing to do, when the disk
  /// has failed, or when it has no room at all: then the next step tries again.
  /// `is_interval_over`: with `SyncMode::kInterval`, what was written must be synced.
  bool step(bool is_interval_over);

  /// Where the synced part of the log ends.
  [[nodiscard]] Lsn synced() const { return log_.synced(); }

  /// The position of the present segment's header.
  [[nodiscard]] Lsn segment() const { return log_.segment(); }

 private:
  [[nodiscard]] WriteQueue::Round next_round();
  [[nodiscard]] bool work(const WriteQueue::Round& round);
  [[nodiscard]] Outcome<Done> carry_out(const WriteQueue::Round& round);
  [[nodiscard]] Outcome<Done> remove(const WriteQueue::Removals& removals);
  [[nodiscard]] Outcome<Done> write_in_flight();
  [[nodiscard]] Outcome<bool> wait_for_room();
  [[nodiscard]] Outcome<Done> free_some(std::uint64_t written);
  [[nodiscard]] Outcome<Done> look_at_lock();

  /// With `kInterval`: something is written that an interval must sync.
  [[nodiscard]] bool is_sync_planned() const;

  const FileJournalOptions& options_;
  WriteQueue& queue_;
  WriterStatus& status_;
  Lock& lock_;
  const Clock now_;
  LogWriter log_;
  SpaceWatch full_disk_;
  FreeingPace pace_;
  Time lock_looked_at_{};
  Time sync_by_{};                               ///< when what is written must be synced
  std::optional<WriteQueue::Round> unfinished_;  ///< when stepped: it found no room
};

}  // namespace millrace::journal
