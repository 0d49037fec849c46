#pragma once

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <deque>
#include <functional>
#include <vector>

#include "core/broker/broker.hpp"
#include "core/model/meter.hpp"
#include "core/ports/journal.hpp"
#include "core/ports/session.hpp"
#include "core/state/ledger.hpp"
#include "server/net/loop.hpp"
#include "server/process/clock.hpp"

namespace millrace::server {

/// One who answers a client, as the commit queue sees it.
class Participant {
 public:
  virtual ~Participant() = default;

  /// Lets the session execute what it kept, if it can.
  virtual void resume(Time now) = 0;

  /// Takes the session's output, to leave once everything before `lsn` is durable, and sends what
  /// `durable` already covers. True when it waits for more to become durable: then `send` is
  /// called once everything before `lsn` is.
  virtual bool commit(Lsn lsn, Lsn durable) = 0;

  /// Sends what is covered.
  virtual void send(Lsn durable) = 0;

 private:
  friend class CommitQueue;
  bool is_enlisted_ = false;
  bool is_held_ = false;
};

/// Turns what all connections did at about the same time into one batch of the journal, and lets
/// their replies go when it is durable.
///
/// Who did something enlists. One turn later, which is behind everything else that is ready now,
/// the records go to the journal as one batch, and the output of all who enlisted is bound to its
/// end: so a reply waits for everything recorded before it, whoever recorded it. What changes
/// nothing is bound to what was recorded last.
class CommitQueue {
 public:
  struct Parts {
    Loop& loop;
    Broker& broker;
    Ledger& ledger;
    Journal& journal;
    Clock& clock;
  };

  /// `on_turn` is called once in each turn, to do what has come due: behind everything that the
  /// turn executes, so that it knows about all that is planned, and before the batch is taken.
  CommitQueue(Parts parts, std::function<void(Time now)> on_turn);
  ~CommitQueue();
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  /// `participant` is the one to enlist when the broker delivers to `session`. Both until `forget`.
  void introduce(Session& session, Participant& participant);
  void forget(Session& session, Participant& participant);

  /// The participant takes part in the next turn. To be called after each call of its session.
  void enlist(Participant& participant);

  /// True while the disk is so far behind that nobody is listened to and nothing is executed. Who
  /// enlists meanwhile, or asks to be reminded, is enlisted anew when this ends.
  [[nodiscard]] bool is_behind() const { return is_behind_ || is_held_; }

  /// Only while that is so.
  void remind(Participant& participant);

  /// The same, for as long as the caller wishes. Turns go on.
  void hold(bool is_held);

  /// There will be a turn soon, whether anybody enlists or not.
  void schedule();

  /// The same, when more of what was appended has become durable.
  void schedule_when_durable() { is_durable_awaited_ = true; }

  /// How much of what was appended waits for the disk, how long the oldest of it does by now, and
  /// how long batches waited so far.
  [[nodiscard]] std::size_t undurable_bytes() const;
  [[nodiscard]] Duration longest_wait(Time now) const;
  [[nodiscard]] const Histogram& waits() const { return waits_; }

  /// Whether anything does, or will, since it is about to be appended.
  [[nodiscard]] bool has_undurable() const {
    return undurable_bytes() > 0 || parts_.ledger.has_batch();
  }

  /// True when no turn is to come and every reply has been let go.
  [[nodiscard]] bool is_at_rest() const { return !is_scheduled_ && waiting_.empty(); }

  /// Takes the turn now: what was recorded goes to the journal. For the end of the server.
  void turn();

 private:
  struct Waiting {
    Lsn lsn;
    std::vector<Participant*> members;
  };
  struct Appended {
    Lsn end;
    Time at;
  };

  void enlist_woken();
  void append_batch();
  void append_if_large();
  void measure_lag();
  void commit_members();
  void hold_members();
  void release_held();
  void on_durable();
  void note_durable(Lsn durable);

  Parts parts_;
  std::function<void(Time)> on_turn_;
  absl::flat_hash_map<Session*, Participant*> participants_;
  std::vector<Participant*> enlisted_;    ///< null: forgotten meanwhile
  std::vector<Participant*> committing_;  ///< those of the turn at work, likewise
  std::deque<Waiting> waiting_;           ///< in the order of LSN, likewise
  std::vector<Participant*> held_;  ///< to be enlisted when it is not behind any more, likewise
  std::vector<std::vector<Participant*>> spare_lists_;
  std::deque<Appended> appended_;  ///< and not durable yet
  Histogram waits_;
  Lsn end_ = 0;  ///< of what was appended last
  bool is_scheduled_ = false;
  bool is_behind_ = false;
  bool is_held_ = false;
  bool is_durable_awaited_ = false;
  bool has_held_ = false;                     ///< a turn ended while the disk was behind
  std::atomic<bool> is_wake_posted_ = false;  ///< the only thing that another thread touches
};

/// How much of the journal may wait for the disk, and so is held in memory, before the server stops
/// to listen, and how little before it goes on. They lie several batches (kBatchBytesPause) apart,
/// so that everybody gets a turn in between, not only who has most to say.
inline constexpr std::size_t kUndurableBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kUndurableBytesLow = kUndurableBytesMax / 2;

}  // namespace millrace::server
