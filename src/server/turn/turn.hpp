#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "core/ports/journal.hpp"
#include "core/ports/session.hpp"
#include "core/state/ledger.hpp"
#include "server/process/clock.hpp"
#include "server/turn/commit_queue.hpp"
#include "server/turn/compactor.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// One that answers a client, as the main loop sees it.
class Responder {
 public:
  virtual ~Responder() = default;

  /// Hands over the output that came since the last call. It may leave once everything before `lsn`
  /// is durable, or as much of that as it tells of: then that is the answer. nullopt: there was
  /// none.
  virtual std::optional<Lsn> bind(Lsn lsn) = 0;

 private:
  friend class Turn;
  bool is_enlisted_ = false;
};

/// What the main loop does right now. Its thread says so when a step begins, which costs two
/// stores; any thread may ask.
class LoopStep {
 public:
  /// `name` is a literal.
  void begin(const char* name) {
    name_.store(name, std::memory_order_relaxed);
    count_.store(count() + 1, std::memory_order_relaxed);
  }

  [[nodiscard]] const char* name() const { return name_.load(std::memory_order_relaxed); }

  /// Of the steps that have begun: it does not change while the loop hangs.
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<const char*> name_ = "start";
  std::atomic<std::uint64_t> count_ = 0;
};

/// Those that are to be called, in order. Any of them may be removed while others are called, and
/// is not called then. The list owns nobody.
template <typename Member>
class CallList {
 public:
  void add(Member& member) { members_.push_back(&member); }

  /// Takes time for the length of the list: members leave far less often than they are called.
  void remove(const Member& member) {
    // The places of the others stay, since the list may be being walked.
    std::replace(members_.begin(), members_.end(), const_cast<Member*>(&member),
                 static_cast<Member*>(nullptr));
  }

  /// Calls `call` with each member that is there now. Those that are added meanwhile are left out.
  template <typename Call>
  void call_each(Call call) {
    const std::size_t count = members_.size();
    // By index and looked up each time: a call may add members, which moves them all.
    for (std::size_t i = 0; i < count; ++i) {
      if (members_[i] != nullptr) call(*members_[i]);
    }
  }

  void clear() { members_.clear(); }

  /// Those that were removed count until `clear`.
  [[nodiscard]] bool is_empty() const { return members_.empty(); }
  [[nodiscard]] std::size_t size() const { return members_.size(); }

  void swap(CallList& other) noexcept { members_.swap(other.members_); }

 private:
  std::vector<Member*> members_;  ///< null: removed meanwhile
};

/// Where the main loop gets input from.
class Input {
 public:
  virtual ~Input() = default;

  /// Waits until something has arrived, `wake` was called or `longest` is over, and has the
  /// sessions execute what arrived. Clients that have closed come first: the others then see them
  /// gone.
  virtual void take(Duration longest) = 0;

  /// Whether `take` has so few clients to serve this time that each should be answered at once.
  /// Until `take` returns.
  [[nodiscard]] virtual bool serves_few() const = 0;

  /// The next `take` has something to do without waiting.
  [[nodiscard]] virtual bool has_work() const = 0;

  /// Makes `take` return soon. May be called from any thread.
  virtual void wake() = 0;

  /// Replies that were bound to `durable` or to less need not wait for the main loop. May be called
  /// from any thread.
  virtual void note_durable(Lsn /*durable*/) {}
};

/// What the process does in a turn, in addition to serving clients.
class Duties {
 public:
  virtual ~Duties() = default;

  /// What holds until the next turn asks, where compaction asks for `asked`.
  virtual Compactor::Limits set_limits(Compactor::Limits asked, Time now) = 0;

  /// Does what is to be done once a turn.
  virtual void work(Time now) = 0;

  /// Replies may leave that were bound to `durable` or to less, and no others.
  virtual void let_go(Lsn durable) = 0;

  /// Another server leads the log: nobody is to be answered any more. Called once.
  virtual void stand_down() = 0;
};

/// The main loop: `run` is its body.
///
/// What all clients did in a turn is one batch of the journal, and their replies are bound to its
/// end, but for those of `answer_early`. So a reply waits for everything that was recorded before
/// it, whichever client recorded it. A reply that recorded nothing is bound to what was recorded
/// last. One that hands out a job waits for what made the job, and not for its reservation
/// (`Session::output_needs`).
///
/// When another server leads the log, nothing is executed, recorded or sent any more, not even what
/// was executed before: the next leader does not know of it.
class Turn {
 public:
  struct Parts {
    Broker& broker;
    Ledger& ledger;
    Journal& journal;
    Clock& clock;
    Ticker& ticker;
    CommitQueue& commits;
    Compactor& compactor;
    Input& input;
    Duties& duties;
    LoopStep* step = nullptr;  ///< is told each step; null: nobody asks
  };

  explicit Turn(Parts parts);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// The journal wakes the input from now on, as after the constructor. Another may have been woken
  /// in between.
  void listen_to_journal();

  /// One turn, which waits for input if there is nothing else to do.
  void run();

  /// `responder` is enlisted when the broker delivers to `session`. Both live until `leave`.
  void join(Session& session, Responder& responder);
  void leave(const Session& session, Responder& responder);

  /// The responder takes part in the next turn, or in the present one if that has not bound replies
  /// yet. To be called after each call of its session.
  void enlist(Responder& responder);

  /// Binds the responder's output now, if nothing that was recorded is still to be appended. It
  /// takes part in the turn all the same.
  void bind_at_once(Responder& responder);

  /// To be called when input was executed. Binds at once where few clients are served: these would
  /// wait for the end of the turn with nothing to do, and then the server for them. Where many are,
  /// sending to them in a row costs less.
  void answer_early(Responder& responder);

  /// There will be a turn without delay, whether anybody enlists or not.
  void request() { is_requested_ = true; }

  /// True while no client of the job ports is read or executed: the disk is far behind, or
  /// compaction needs what is left of it. Requests of the web port are executed: at most
  /// `kWebChangesMax` of them wait for the disk at a time.
  [[nodiscard]] bool is_paused() const { return commits().is_behind() || is_compacting_only_; }

  /// True when `run` has something to do without waiting.
  [[nodiscard]] bool has_work() const {
    return has_news_ || parts_.input.has_work() || is_needed(parts_.clock.now());
  }

  /// True when nothing is left to do and every reply was let go.
  [[nodiscard]] bool is_at_rest() const { return !has_work() && !commits().has_waiting(); }

 private:
  [[nodiscard]] const CommitQueue& commits() const { return parts_.commits; }
  [[nodiscard]] bool is_asked_for() const;
  [[nodiscard]] bool has_missing_bodies() const;
  [[nodiscard]] bool is_needed(Time now) const;
  [[nodiscard]] Duration longest_wait() const;
  void gather();
  void gather_while_in_flight();
  [[nodiscard]] bool is_much_in_flight() const;
  [[nodiscard]] bool has_small_batch() const;
  void enlist_woken();
  Compactor::Limits set_limits(Time now);
  void do_due(const Compactor::Limits& limits, Time now);
  void compact(const Compactor::Limits& limits);
  void bind(Responder& responder);
  void bind_replies();
  void let_go();
  void take_news();
  void end_pause();
  void stand_down();
  void begin_step(const char* name) {
    if (parts_.step != nullptr) parts_.step->begin(name);
  }

  Parts parts_;
  absl::flat_hash_map<const Session*, Responder*> responders_;
  CallList<Responder> enlisted_;
  CallList<Responder> binding_;  ///< those of the turn at work
  bool is_requested_ = false;
  bool is_compacting_only_ = false;  ///< no job client may write, only compaction
  bool has_stood_down_ = false;
  bool was_paused_ = false;
  bool is_durable_awaited_ = false;     ///< compaction goes on when more is durable
  std::atomic<bool> has_news_ = false;  ///< of the journal: the only thing that another thread sets
};

/// How often a turn looks for more input before it appends a batch that will be synced, and how
/// large a batch is enough. Measured with 8, 50 and 200 clients that put 128 bytes: 4 looks give up
/// to a tenth more puts than none, and 8 no more than 4.
inline constexpr int kGatheringLooks = 4;
inline constexpr std::size_t kGatheredBytes = 64 * 1024;
/// How long such a batch waits at most for those in flight.
inline constexpr Duration kInFlightMax = std::chrono::milliseconds(5);

/// A turn, and all that it works with. `turn.run()` is called again and again, in one thread.
struct MainLoop {
  /// All outlive the loop.
  struct Parts {
    Broker& broker;
    Ledger& ledger;
    Journal& journal;
    Clock& clock;
    Input& input;
    Duties& duties;
    LoopStep* step = nullptr;  ///< see `Turn::Parts`
  };

  explicit MainLoop(Parts parts)
      : ticker(parts.broker),
        commits({.ledger = parts.ledger, .journal = parts.journal, .clock = parts.clock}),
        compactor(parts.ledger, parts.journal),
        turn({.broker = parts.broker,
              .ledger = parts.ledger,
              .journal = parts.journal,
              .clock = parts.clock,
              .ticker = ticker,
              .commits = commits,
              .compactor = compactor,
              .input = parts.input,
              .duties = parts.duties,
              .step = parts.step}) {}

  Ticker ticker;
  CommitQueue commits;
  Compactor compactor;
  Turn turn;
};

}  // namespace millrace::server
