#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/record_batch.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// The room of a log that a disk may have no more of. Called from the thread that appends.
class DiskSpace {
 public:
  virtual ~DiskSpace() = default;

  /// True while the disk has no room but what is reserved for ending jobs: new jobs must be
  /// refused. A change is told by the wake-up of `Journal::on_durable`.
  [[nodiscard]] virtual bool is_full() const = 0;

  /// While the disk is full: what the system said when there was no room. Empty when there only was
  /// less than the reserve needs.
  [[nodiscard]] virtual std::string problem() const { return {}; }

  /// While the disk is full: how long the log can become, in bytes, from its beginning.
  [[nodiscard]] virtual std::uint64_t log_bytes_max() const = 0;

  /// While the disk is full: somebody else, such as a backup, keeps the oldest segment too, so to
  /// trim it makes no room.
  [[nodiscard]] virtual bool is_oldest_shared() const = 0;

  /// How many segments the log has.
  [[nodiscard]] virtual std::size_t segment_count() const = 0;
};

/// Counts the leaders of a log. A server appends in the epoch of its leadership; the log refuses it
/// once another server leads in a later one.
enum class Epoch : std::uint64_t {};

/// The epoch of a log that no other server can append to.
inline constexpr Epoch kOnlyEpoch{1};

/// Why a batch was refused: another server leads the log.
struct Deposed {
  Epoch by{};
};

/// When a batch counts as durable.
enum class Durability {
  kWhenAppended,  ///< at once: nothing waits, and small batches cost nothing
  kWhenWritten,   ///< when the system has it, soon or late on the disk
  kWhenSynced     ///< when the disk has it: each batch costs a sync
};

/// The log of batches that makes the broker's state durable. It moves opaque bytes: only the ledger
/// knows what a batch means.
///
/// All calls come from one thread, except `replay`, which another thread may make before the first
/// of them. A write or a sync that fails ends the process, since the replies that wait for it must
/// never be sent.
class Journal {
 public:
  /// The place of a batch: [begin, end) are its bytes. It is durable once `durable() >= end`.
  struct Span {
    Lsn begin = 0;
    Lsn end = 0;
  };

  /// Is given every batch once, in order, with the position of its first byte. A problem stops the
  /// replay.
  using Visitor = std::function<Outcome<Done>(std::string_view batch, Lsn begin)>;

  virtual ~Journal() = default;

  /// Hands every batch of the log to `visitor`, oldest first. To be called once, before `append`.
  [[nodiscard]] virtual Outcome<Done> replay(const Visitor& visitor) = 0;

  /// The epoch of the log's present leader, as far as is known here. A server that appended in an
  /// earlier one is deposed: what was not durable by then is not in the log and never will be.
  [[nodiscard]] virtual Epoch epoch() const = 0;

  /// Queues a batch (1 byte to 1.25 GiB) for writing, as the leader in `epoch`, and never waits for
  /// the disk. A batch is replayed whole or, after a crash before it was durable, not at all.
  [[nodiscard]] virtual Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) = 0;

  /// The same for a batch that nobody waits for yet: it may be written with a later one, or when
  /// `hurry` is called.
  [[nodiscard]] virtual Result<Span, Deposed> append_unhurried(Epoch epoch, RecordBatch batch) {
    return append(epoch, std::move(batch));
  }
  /// Somebody waits for everything that was appended.
  virtual void hurry() {}

  /// How many batches are on their way to other machines. There each of them costs syncs of its
  /// own, so few large ones are durable sooner than many small ones. `on_durable` tells when one
  /// is stored. 0 for a log that writes all that waits at once.
  [[nodiscard]] virtual std::size_t in_flight() const { return 0; }

  /// Everything before this position is as safe as the sync mode promises. It does not move any
  /// more when the server is deposed.
  [[nodiscard]] virtual Lsn durable() const = 0;

  /// False while no reply may be sent, even where all is durable: another server could lead
  /// already. `on_durable` tells when it is true again.
  [[nodiscard]] virtual bool may_answer() const { return true; }

  /// Until then it stays true, whatever happens.
  [[nodiscard]] virtual Time may_answer_until() const { return kNever; }

  [[nodiscard]] virtual Durability durability() const { return Durability::kWhenWritten; }

  /// `wake` is called from another thread each time `durable()`, `epoch()` or
  /// `DiskSpace::is_full()` has changed.
  virtual void on_durable(std::function<void()> wake) = 0;

  /// The bytes at [begin, begin + size) of a batch appended or replayed earlier, and not trimmed.
  [[nodiscard]] virtual Outcome<std::string> read(Lsn begin, std::size_t size) = 0;

  /// These bytes will soon be read: the journal may begin to fetch them.
  virtual void expect(Lsn begin, std::size_t size) = 0;

  /// How much log there is. A log is trimmed from its beginning, in segments.
  struct Extent {
    Lsn begin = 0;                    ///< of the oldest segment
    Lsn oldest_end = 0;               ///< of the oldest segment; `begin` when there is one only
    Lsn newest_begin = 0;             ///< of the segment that is written to
    Lsn end = 0;                      ///< of what was appended
    std::uint64_t segment_bytes = 0;  ///< the usual length of a segment
  };
  /// Before `replay`: what that will read, or a little more, in `begin` and `end`.
  [[nodiscard]] virtual Extent extent() const = 0;

  /// Nothing before `before` is needed, and what replaces it is durable: removes the segments that
  /// end there or earlier. Answers how many.
  virtual std::size_t trim(Lsn before) = 0;

  /// What is before `damage_end` cannot all be read back. True: a replay would meet that too, and
  /// is spared it when the log is trimmed to there. The next batch is in a segment that begins
  /// there or later.
  virtual bool leave_behind(Lsn /*damage_end*/) { return false; }

  /// Returns when everything appended is written and synced, whatever the sync mode.
  virtual void sync() = 0;

  /// The room for the log; null when it never runs out.
  [[nodiscard]] virtual const DiskSpace* disk_space() const { return nullptr; }
};

/// Whether the disk of that journal is full.
[[nodiscard]] inline bool is_full(const Journal& journal) {
  const DiskSpace* const space = journal.disk_space();
  return space != nullptr && space->is_full();
}

}  // namespace millrace
