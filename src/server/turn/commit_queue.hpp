#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "core/model/meter.hpp"
#include "core/ports/journal.hpp"
#include "core/state/ledger.hpp"
#include "server/process/clock.hpp"

namespace millrace::server {

/// Measured with 1 to 200 clients and a log of three synced servers: with up to 50, two batches in
/// flight are as fast as one or faster.
inline constexpr std::size_t kFewWaiting = 32;

/// Knows what is durable: which replies wait for which position of the log, and how far the disk
/// is behind.
class CommitQueue {
 public:
  struct Parts {
    Ledger& ledger;
    Journal& journal;
    Clock& clock;
  };

  explicit CommitQueue(Parts parts) : parts_(parts) {}
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  /// This server leads the log in that epoch: see `Role`. Once, and before the first turn.
  void lead(Epoch epoch);

  /// Whether it still does. Once it does not, no reply may leave any more.
  [[nodiscard]] bool leads() const;

  /// Appends what the broker has recorded to the journal, as one batch. It is dropped when another
  /// server leads the log.
  void append_batch();

  /// The same, if it is so much that nobody should add to it.
  void append_if_large();

  /// The same, if it is then durable.
  void append_if_durable_at_once();

  /// Batches of workers' reservations, for which nobody waits, are put off: the journal writes them
  /// together with something else. When to call `hurry` at the latest; kNever: none is put off.
  [[nodiscard]] Time hurry_at() const { return hurry_at_; }
  /// The journal writes at once what was put off.
  void hurry();

  /// Everything that was appended is before this.
  [[nodiscard]] Lsn end() const { return end_; }
  [[nodiscard]] Lsn durable() const { return parts_.journal.durable(); }

  /// Replies that tell of what is before this may leave. 0: none may, since this server cannot tell
  /// whether it still leads.
  [[nodiscard]] Lsn answerable() const { return parts_.journal.may_answer() ? durable() : 0; }

  /// A reply waits until everything before `lsn` is durable, which is at most `end()`.
  void await(Lsn lsn);

  /// Looks at what has become durable.
  void look();

  /// True while so much waits for the disk that nobody should be listened to.
  [[nodiscard]] bool is_behind() const { return is_behind_; }

  /// True while replies wait for the disk, or until this server may answer.
  [[nodiscard]] bool has_waiting() const { return waiting_count_ > 0; }

  /// Whether more of them wait than `kFewWaiting`.
  [[nodiscard]] bool has_many_waiting() const { return waiting_count_ > kFewWaiting; }

  /// How much of what was appended waits for the disk, how long the oldest of it does by now, and
  /// how long batches waited so far that were not put off.
  [[nodiscard]] std::size_t undurable_bytes() const;
  [[nodiscard]] Duration longest_wait(Time now) const;
  [[nodiscard]] const Histogram& waits() const { return waits_; }

  /// Whether anything does, or will, since it is about to be appended.
  [[nodiscard]] bool has_undurable() const {
    return undurable_bytes() > 0 || parts_.ledger.has_batch();
  }

 private:
  struct Waiting {
    Lsn lsn;
    std::size_t count;  ///< of replies
  };
  struct Appended {
    Lsn end;
    Time at;
    bool is_unhurried;
  };

  void measure_lag();
  void note_durable(Lsn durable);

  Parts parts_;
  std::optional<Epoch> epoch_;     ///< in which this server leads
  bool is_deposed_ = false;        ///< an append was refused
  std::deque<Waiting> waiting_;    ///< in the order of LSN
  std::size_t waiting_count_ = 0;  ///< of all of them
  std::deque<Appended> appended_;  ///< and not durable yet
  Histogram waits_;
  Lsn end_ = 0;
  Lsn hurried_end_ = 0;  ///< up to there the journal writes without delay
  Time hurry_at_ = kNever;
  bool is_behind_ = false;
};

/// How long the reservations of workers may wait to be written together with something else. A
/// crash in between makes these jobs ready again.
inline constexpr Duration kUnhurriedMax = std::chrono::milliseconds(5);

/// How much of the journal may wait for the disk, and so is held in memory, before the server stops
/// listening, and how little before it goes on. They are several batches (kBatchBytesPause) apart,
/// so that every client is served in between, not only the one that sends most.
inline constexpr std::size_t kUndurableBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kUndurableBytesLow = kUndurableBytesMax / 2;

}  // namespace millrace::server
