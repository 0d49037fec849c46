#pragma once

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/text_map.hpp"
#include "cli/interrupts.hpp"
#include "core/model/codec.hpp"
#include "core/model/record.hpp"
#include "core/state/ledger.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file_journal.hpp"
#include "server/process/clock.hpp"
#include "tools/directory/marks.hpp"
#include "tools/directory/progress_line.hpp"

namespace millrace::tools {

/// Both together, as a server would have them that counted both. `today` is days since 1970.
[[nodiscard]] RunCounts sum_of(RunCounts counts, std::uint64_t processed, std::uint64_t failed,
                               const std::vector<DayCounts>& days, std::int32_t today);

/// What a data directory has besides jobs that imported jobs must fit in with: times of death,
/// which no two jobs share; locks, which one job holds at most; queues; and counts.
class TargetState {
 public:
  TargetState() = default;
  /// Jobs with this id or a greater one do not count: an import that was cut short left them.
  TargetState(const Ledger& ledger, JobId first_id);

  /// That time, or the next one at which no job died.
  [[nodiscard]] Time take_death(Time wanted);

  /// False: a job holds that lock.
  [[nodiscard]] bool take_lock(const LockKey& key) {
    return locks_.insert({key.high, key.low}).second;
  }
  [[nodiscard]] const std::optional<LockSecret>& lock_secret() const { return lock_secret_; }
  /// To be recorded.
  [[nodiscard]] LockSecretDrawn draw_lock_secret();

  /// The record of a queue that stays when it is empty, with the pause that it had, or without
  /// end. It views `name`.
  [[nodiscard]] QueueChanged kept_queue(std::string_view name, bool is_paused) const;

  [[nodiscard]] const RunCounts& counts() const { return counts_; }

 private:
  struct Pause {
    Time until{};
    std::uint32_t asked_s = 0;
  };

  absl::btree_set<Time> deaths_;
  absl::btree_set<std::pair<std::uint64_t, std::uint64_t>> locks_;
  std::optional<LockSecret> lock_secret_;
  TextMap<Pause> pauses_;
  RunCounts counts_;
};

/// The data directory that jobs are imported into: the journal of a server that is stopped, or a
/// new one. While the import lasts, a mark in the directory keeps servers away. An import that was
/// cut short is begun again by the next one: what it had written is removed first. SIGINT and
/// SIGTERM end it as a full disk does: the next record is refused, and the problem says so.
class ImportTarget {
 public:
  /// Of a source that does not say which process it is.
  static constexpr const char* kUnknownInstance = "unknown";
  struct Options {
    std::string directory;
    std::string source;   ///< see `ImportMark`
    bool merges = false;  ///< there may be jobs already
    /// Set where jobs leave the source: what an import that was cut short has written stays. It
    /// says which process the source is, since another one may give the same ids to other jobs.
    std::string instance = {};
  };

  /// Locks the directory. Refused where it has jobs and `merges` is false, or where it is no
  /// journal of a server of its own.
  [[nodiscard]] static Outcome<std::unique_ptr<ImportTarget>> open(journal::FileSystem& files,
                                                                   const Options& options);

  /// An import that was cut short has written the job, and it is here. With `Options::instance`.
  [[nodiscard]] bool has_taken(JobId id) const { return taken_.contains(id); }
  /// How many jobs that import has written, of those that are here.
  [[nodiscard]] std::uint64_t taken_before() const { return taken_.size(); }
  /// That import was of another process of the same source.
  [[nodiscard]] bool has_new_instance() const { return has_new_instance_; }

  /// What is added to the ids of the source, so that none is used twice. 0 in a new directory.
  [[nodiscard]] JobId id_shift() const { return mark_.first_id - 1; }

  /// The present time, and the clock that source times are of.
  [[nodiscard]] Time now() { return clock_.now(); }
  [[nodiscard]] WallClock wall() const { return wall_; }

  /// A time of the past: one that is still to come, by a wrong clock, becomes now.
  [[nodiscard]] Time past(Time wall_time);

  /// What the directory has besides.
  [[nodiscard]] TargetState& state() { return state_; }

  /// The secret that names locks. Appended where there was none.
  [[nodiscard]] LockSecret lock_secret();

  /// Runs that the source has counted. Of several calls the last one counts.
  void count_runs(std::uint64_t processed, std::uint64_t failed, std::vector<DayCounts> days);

  /// Of a job that dies now: no two are the same.
  [[nodiscard]] Time draw_death();

  /// Appends the record. What it points to is not needed afterwards.
  template <RecordKind Kind>
  [[nodiscard]] Outcome<Done> add(const Kind& record) {
    encode(record, batch_);
    if constexpr (std::is_same_v<Kind, JobAdded>) ++jobs_added_;
    return batch_.size() < kBatchBytes ? Done{} : append();
  }

  /// Everything added is on the disk when it returns.
  [[nodiscard]] Outcome<Done> sync();

  /// Ends the import: every id below `next_id` is used from now on. Removes the mark.
  [[nodiscard]] Outcome<Done> finish(JobId next_id);

 private:
  struct Content;

  ImportTarget(journal::FileSystem& files, const Options& options);
  [[nodiscard]] Outcome<Done> begin();
  [[nodiscard]] bool is_same_process(const std::string& marked) const;
  [[nodiscard]] Outcome<Content> read_content();
  [[nodiscard]] Outcome<Done> prepare(const Content& content);
  [[nodiscard]] Outcome<Done> go_on(const Ledger& ledger);
  [[nodiscard]] Outcome<Done> begin_anew();
  [[nodiscard]] Outcome<Done> append();
  [[nodiscard]] Outcome<Done> look_for_signals();

  /// A record is encoded at once, and some are appended together.
  static constexpr std::size_t kBatchBytes = std::size_t{1} << 20;
  /// Bytes that may be in memory before they are written.
  static constexpr std::uint64_t kPendingBytesMax = std::uint64_t{8} << 20;

  journal::FileSystem& files_;
  const Options options_;
  std::optional<Problem> failure_;  ///< of the disk
  std::unique_ptr<journal::FileJournal> journal_;
  server::SystemClock clock_;
  WallClock wall_;
  Time last_death_{};
  TargetState state_;
  ImportMark mark_;
  bool resumes_ = false;
  bool has_new_instance_ = false;
  absl::flat_hash_set<JobId> taken_;
  JobId next_id_ = 1;
  std::optional<RunCounts> counts_;  ///< what will be counted, if that changes
  std::string batch_;
  std::uint64_t jobs_added_ = 0;
  ProgressLine progress_{"imported", 0};
  std::optional<cli::Interrupts> interrupts_;  ///< once the directory has a mark
};

}  // namespace millrace::tools
