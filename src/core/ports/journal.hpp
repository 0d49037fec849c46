#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// The log of batches that makes the broker's state durable. It moves opaque bytes: what a batch
/// means is the broker's affair. One process appends at a time.
///
/// Calls come one after the other: all from one thread, but for `replay`, which may come from
/// another one before. A write or sync that fails ends the process, since replies that
/// wait for it must never leave.
class Journal {
 public:
  /// Where a batch stands: [begin, end) are its bytes; it is durable once `durable() >= end`.
  struct Span {
    Lsn begin = 0;
    Lsn end = 0;
  };

  /// Given every batch once, in order, with the position of its first byte. A problem stops the
  /// replay.
  using Visitor = std::function<Outcome<Done>(std::string_view batch, Lsn begin)>;

  virtual ~Journal() = default;

  /// Hands every batch of the log to `visitor`, oldest first. To be called once, before `append`.
  [[nodiscard]] virtual Outcome<Done> replay(const Visitor& visitor) = 0;

  /// Queues a batch (1 byte to 1.25 GiB) for writing and never waits for the disk. A batch is
  /// replayed whole or, after a crash before it was durable, not at all.
  virtual Span append(std::string batch) = 0;

  /// Everything before this position is as safe as the sync mode promises.
  [[nodiscard]] virtual Lsn durable() const = 0;

  /// `wake` is called from another thread each time `durable()` or `is_full()` has changed.
  virtual void on_durable(std::function<void()> wake) = 0;

  /// The bytes at [begin, begin + size) of a batch appended or replayed earlier, and not trimmed.
  [[nodiscard]] virtual Outcome<std::string> read(Lsn begin, std::size_t size) = 0;

  /// These bytes will soon be read: they may be fetched from the disk meanwhile.
  virtual void expect(Lsn begin, std::size_t size) = 0;

  /// How much log there is. It can be freed in pieces only, from the front. Before `replay`: what
  /// that will read, or a little more.
  struct Extent {
    Lsn begin = 0;                  ///< of the oldest piece
    Lsn oldest_end = 0;             ///< of the oldest piece; `begin` when it is the one written to
    Lsn newest_begin = 0;           ///< of the piece written to
    Lsn end = 0;                    ///< of what was appended
    std::uint64_t piece_bytes = 0;  ///< how long a piece is, as a rule
    std::size_t pieces = 0;
    /// The disk is full, and the oldest piece kept by somebody else too, such as a backup: to trim
    /// it brings no room.
    bool is_shared = false;
  };
  [[nodiscard]] virtual Extent extent() const = 0;

  /// True while there is hardly room for what ends jobs, and none for new ones. Changes are told by
  /// the wake-up too.
  [[nodiscard]] virtual bool is_full() const = 0;

  /// While it is full: how many bytes of log there is room for, those that are there included.
  [[nodiscard]] virtual std::uint64_t bytes_max() const = 0;

  /// Nothing before `before` is needed: what replaces it is durable. Its space may be freed.
  virtual void trim(Lsn before) = 0;

  /// Returns when everything appended is written and synced, whatever the sync mode.
  virtual void sync() = 0;
};

}  // namespace millrace
