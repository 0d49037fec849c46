#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/broker/broker.hpp"
#include "core/model/scan.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// Changes to all jobs that match, made in slices between other clients' commands. Each can be
/// watched and cancelled while it runs. None of them survives the process.
///
/// A change visits the jobs that are in its states when it begins. A job that enters such a state
/// after the last of them is left alone, so nobody can prolong the change. A job that was changed
/// or removed meanwhile is passed over.
class BulkChanges {
 public:
  /// The jobs that a person counted and agreed to. Others stay: those that were made, became ready
  /// or died later, and all jobs once `changes_max` were changed.
  struct Bounds {
    JobId id_end = std::numeric_limits<JobId>::max();  ///< `next_id` when they were counted
    Time counted_at = kNever;
    std::uint64_t changes_max = std::numeric_limits<std::uint64_t>::max();
  };

  struct Request {
    std::vector<JobState> states;  ///< visited one after the other; reserved jobs stay
    std::string queue = {};        ///< empty: all
    JobBatchId batch = 0;          ///< 0: all; else its members
    std::uint64_t group = 0;       ///< of failures; 0: all; else its jobs
    Mutation::Action action = Mutation::Action::kDiscard;
    std::string to = {};  ///< the queue of kMove
    /// Jobs that are requeued become ready evenly within so long; 0: at once.
    Duration spread = {};
    /// Which jobs; empty: all. It is kept until the change has ended. A job about which its steps
    /// did not suffice it is asked again before any other one.
    JobMatcher matches = {};
    Bounds bounds = {};
    bool forgets_queue = false;  ///< at the end, if it is empty: `AdminOperations::forget_queue`
    std::string title = {};      ///< shown with the progress
    std::string user = {};       ///< who wants it; empty: nobody in particular
  };

  enum class Phase { kRunning, kDone, kCancelled };

  struct Progress {
    std::uint64_t id = 0;
    std::string title;
    std::string user;
    std::string queue;  ///< whose jobs alone it changes; empty: those of more than one
    Phase phase = Phase::kRunning;
    std::uint64_t looked_at = 0;
    std::uint64_t to_look_at = 0;  ///< about how many there were at the beginning
    std::uint64_t changed = 0;
    Time started_at{};
    Time ended_at{};
  };

  /// `broker` must outlive it.
  explicit BulkChanges(Broker& broker) : broker_(broker) {}

  /// nullopt: `kRunningMax` are running already.
  std::optional<std::uint64_t> start(Request request, Time now);

  /// The jobs that were changed stay changed. False: no such change, or it has ended.
  bool cancel(std::uint64_t id, Time now);

  /// Null: no such change, or `kEndedKept` others ended later.
  [[nodiscard]] const Progress* find(std::uint64_t id) const;

  [[nodiscard]] bool is_running() const { return !running_.empty(); }

  /// Running ones first, then the ended ones, of which the latest is the first.
  [[nodiscard]] std::vector<Progress> list() const;

  /// One slice of one change. True when more is to be done.
  bool work(Time now);

  static constexpr std::size_t kRunningMax = 16;
  static constexpr std::size_t kEndedKept = 32;

 private:
  struct Change {
    Request request;
    Progress progress;
    std::size_t next_state = 0;
    std::optional<ScanPlace> after;  ///< the place reached in the present state
    std::optional<ScanPlace> last;   ///< the end of that state when it was begun
    WallClock clock;                 ///< what it was then
    bool has_begun_state = false;
    bool is_state_over = false;  ///< but for the job of the next member
    JobId asked = 0;             ///< the matcher needs more steps for it; 0: for none

    [[nodiscard]] bool has_work() const {
      return next_state < request.states.size() && progress.changed < request.bounds.changes_max;
    }
  };

  [[nodiscard]] ScanOrder order_of(const Change& change) const;
  void begin_state(Change& change) const;
  [[nodiscard]] std::vector<JobId> collect(Change& change) const;
  [[nodiscard]] std::vector<JobId> ask_again(Change& change) const;
  bool change_one(const Change& change, JobId id, Time now);
  [[nodiscard]] static bool is_meant(const Change& change, const Job& job);
  void end(Change change, Phase phase, Time now);

  Broker& broker_;
  std::uint64_t next_id_ = 1;
  std::deque<Change> running_;  ///< the front one has the next slice
  std::deque<Progress> ended_;  ///< the latest one first
};

}  // namespace millrace
