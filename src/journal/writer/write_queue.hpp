#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/model/types.hpp"
#include "journal/writer/log_writer.hpp"
#include "journal/writer/writer_status.hpp"

namespace millrace::journal {

/// What one thread, the caller, hands over to another, the writer: batches to write, segments to
/// remove, the wish that all is synced, and the end.
///
/// The writer works in rounds: it takes everything that is there, and what comes meanwhile is left
/// for the next round. Batches stay in memory, where they can be read, until their round is over.
class WriteQueue {
 public:
  struct Removals {
    std::vector<Lsn> segments;  ///< oldest first
    Lsn oldest_kept = 0;        ///< the oldest segment afterwards
  };

  /// What the writer does at a time, besides writing the batches of `in_flight()`.
  struct Round {
    Removals removals;
    bool must_sync = false;
    bool is_last = false;
  };

  // ---- for the caller ---------------------------------------------------------------------------

  /// Batches come in the order of their places. After a failure they are dropped.
  void append(PlacedBatch batch);
  /// The same, and it is written with the next one that is not of this kind, or after `hurry`.
  void append_unhurried(PlacedBatch batch);
  /// All that was appended shall be written.
  void hurry();

  /// The writer gets no batch that ends beyond `end`, until this is called again with a later one.
  /// At the end, those that it never got are dropped. Any thread may call.
  void release(Lsn end);

  /// `oldest_kept` is the oldest segment afterwards.
  void remove(const std::vector<Lsn>& segments, Lsn oldest_kept);

  /// The bytes at [begin, begin + size), if a batch in memory has them.
  [[nodiscard]] std::optional<std::string> read(Lsn begin, std::size_t size) const;

  /// How many bytes were appended and are not durable yet. Any thread may ask.
  [[nodiscard]] std::uint64_t pending_bytes() const {
    return pending_bytes_.load(std::memory_order_relaxed);
  }

  /// Everything up to `end`, which is all that was appended, shall be synced.
  void ask_to_sync(Lsn end);
  [[nodiscard]] bool is_synced(Lsn end) const;

  /// The same, and returns when it is done or the writer has failed. On a full disk it waits for
  /// room for a few seconds; after that the writer does not wait any longer.
  void sync(Lsn end, const WriterStatus& status);

  /// The next round is the last one.
  void stop();

  // ---- for the writer ---------------------------------------------------------------------------

  /// The log is synced up to there. To be called before the first round.
  void begin(Lsn synced);

  /// Waits until there is work, at most until `until`, and takes it. The round may be empty.
  [[nodiscard]] Round wait_for_round(std::chrono::steady_clock::time_point until);

  /// Takes the work at once. `in_flight()` must be empty.
  [[nodiscard]] Round take_round();

  /// A round that found no room is to be tried again, with its batches still in flight. Its
  /// removals are done; it gets those that were asked for since, and is the last one if it must be.
  void refresh(Round& unfinished);

  /// In the middle of a round: the segments to be removed by now, perhaps none, after a pause that
  /// ends early when there are some. nullopt when nobody waits for room any longer.
  [[nodiscard]] std::optional<Removals> wait_for_removals(std::chrono::milliseconds pause);

  /// The batches of this round. Read without the mutex: nobody but the writer changes them.
  [[nodiscard]] const std::vector<PlacedBatch>& in_flight() const { return in_flight_; }

  /// The round is over, and the log is synced up to there.
  void finish_round(Lsn synced);

  /// The writer has failed, and does nothing more.
  void fail();
  [[nodiscard]] bool has_failed() const;
  /// Also of batches that nobody waits for.
  [[nodiscard]] bool has_work() const;

 private:
  // To be called with the mutex held.
  [[nodiscard]] bool has_work_locked() const;
  [[nodiscard]] bool has_released_locked() const;
  void take_released_locked();
  void append_locked(PlacedBatch&& batch);
  [[nodiscard]] Round take_round_locked();
  [[nodiscard]] Removals take_removals_locked();

  std::vector<PlacedBatch> finished_;  ///< the writer's: a round's batches, to be freed
  std::atomic<std::uint64_t> pending_bytes_ = 0;

  // All below is under the mutex; only `in_flight_` is also read without it, by the writer.
  mutable std::mutex mutex_;
  std::condition_variable work_;      ///< for the writer
  std::condition_variable synced_;    ///< for `sync`
  std::vector<PlacedBatch> pending_;  ///< appended, not yet taken
  Lsn released_ = std::numeric_limits<Lsn>::max();
  std::vector<PlacedBatch> in_flight_;  ///< taken; changed by the writer only
  Removals removals_;
  Lsn sync_asked_ = 0;
  Lsn sync_done_ = 0;
  bool must_not_wait_ = false;  ///< for room any longer
  bool is_hurried_ = false;     ///< some of `pending_` shall be written
  bool is_stopping_ = false;
  bool has_failed_ = false;
};

}  // namespace millrace::journal
