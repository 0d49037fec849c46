#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/job.hpp"
#include "core/state/queues.hpp"
#include "core/state/throttle/queue_lines.hpp"
#include "core/state/throttle/slot_holders.hpp"
#include "core/state/throttle/throttle.hpp"
#include "core/state/throttle/throttle_table.hpp"
#include "core/state/throttle/type_reader.hpp"

namespace millrace {

/// The limits of queues and of jobtypes, and what counts against them. Limits that an operator set
/// are stored, and win over the rules that the server was given. A rule holds for each queue or
/// type that it matches on its own.
///
/// Until `set_rules` nothing is limited: the log is read without counting.
///
/// What belongs to one job, its slots of its queue and of its type, is done in one call. The rest
/// is in its parts: what is stored (`ThrottleTable`), who holds slots (`SlotHolders`), which types
/// are limited (`TypeReader`), and jobs that wait for their type or key (`QueueLines`).
class Throttles final : private QueueWatcher {
 public:
  /// `queues` outlives this.
  explicit Throttles(Queues& queues) : queues_(queues) { queues_.watch(*this); }
  Throttles(const Throttles&) = delete;
  Throttles& operator=(const Throttles&) = delete;

  [[nodiscard]] ThrottleTable& table() { return table_; }
  [[nodiscard]] const ThrottleTable& table() const { return table_; }
  [[nodiscard]] QueueLines& lines() { return lines_; }
  [[nodiscard]] const QueueLines& lines() const { return lines_; }

  // ---- limits -----------------------------------------------------------------------------------

  /// What reads the types of jobs. It outlives this.
  void read_types_by(const WorkUnitFormat& format) { type_reader_.read_by(format); }

  /// From now on queues have limits. Queues that come into being have theirs at once; `refresh`
  /// gives them to those that are there. Types have theirs at once.
  void set_rules(ThrottleRules rules, Time now);
  [[nodiscard]] const ThrottleRules& rules() const { return rules_; }
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  /// The queue has the limits that it ought to have.
  void refresh(Queue& queue, Time now);
  /// So have the types. Their running jobs are counted anew.
  void refresh_types(Time now);

  // ---- slots ------------------------------------------------------------------------------------

  /// Something may limit a reservation in that queue: then the following are to be called. The
  /// job's body is in memory where types are limited, but for a job that has just left.
  [[nodiscard]] bool limits(const Queue& queue) const {
    return queue.throttle != nullptr || has_types_;
  }
  [[nodiscard]] bool has_types() const { return has_types_; }

  /// A reservation of the queue has begun, or is about to change or end.
  void enter(Queue& queue, const Job& job);
  void leave(Queue& queue, const Job& job);

  /// A job of the queue was handed out: it is counted, and takes tokens.
  void count_begun(Queue& queue, const Job& job, Time now);
  /// It was not, after all.
  void count_undone(Queue& queue, const Job& job);
  /// The running job is about to be taken back from a worker that was lost.
  void count_reclaimed(const Job& job);

  /// Whether this worker may have one more job of the queue; asked after `Throttle::has_room`. With
  /// an empty `wid` the connection is the worker.
  [[nodiscard]] bool admits(const Throttle& throttle, std::string_view wid,
                            ClientId connection) const;

  /// Slots that are older than their timeout count no more.
  void age(Throttle& throttle, Time now);

  // ---- which job is next ------------------------------------------------------------------------

  /// The job that the queue hands out next, if it has lines or some type is limited; nullopt: there
  /// is none, or a slice was passed over, and the queue is among `QueueLines::take_unfinished`. To
  /// be asked after `Throttle::has_room`. `with_body` answers the job in a slot, with its body in
  /// memory if it was pushed.
  using WithBody = absl::FunctionRef<const Job&(JobSlot)>;
  [[nodiscard]] std::optional<ReadyEntry> next(Queue& queue, WithBody with_body, Time now);

  /// See `QueueLines::line_up_some`.
  void line_up_some(absl::FunctionRef<const Job&(JobSlot)> job_in);

  /// A queue that waits for this type is to be looked at again; nullopt: there is none.
  [[nodiscard]] std::optional<QueueId> unpark(Throttle& type);

  // ---- what is to be done -----------------------------------------------------------------------

  /// A throttle in which a slot became free since, and whose waiting clients were not served; null:
  /// there is none.
  [[nodiscard]] Throttle* take_freed();
  /// Those that wait are to be looked at, once more.
  void free(Throttle& throttle);
  [[nodiscard]] Time next_due() const {
    return freed_.empty() ? std::min(table_.alarms().next(), table_.next_full()) : kAtOnce;
  }

  /// There are reservations from before the limits, which are to be counted by `count`.
  [[nodiscard]] bool is_counting() const { return !counting_.empty() || are_types_counting_; }
  [[nodiscard]] bool are_types_counting() const { return are_types_counting_; }
  /// How often a count was asked for. One that began before the last time has missed some.
  [[nodiscard]] std::uint64_t counts_asked() const { return counts_asked_; }
  /// As `enter`, against the limits that are counting: nothing where it is too old. Where types
  /// are, the body is in memory.
  void count(Queue& queue, const Job& job, Time now);
  /// All reservations were visited.
  void end_count();

 private:
  using Place = ThrottleTable::Place;

  void opened(Queue& queue) override;
  void dropped(Queue& queue) override;

  /// The limits that what has that name ought to have, and the pattern that they are from.
  [[nodiscard]] std::pair<ThrottleLimits, std::string> wanted(const Throttle* throttle,
                                                              std::string_view name) const;
  void look_for_limits(Queue& queue, std::optional<Time> now);
  void put_in_force(Throttle& throttle, Queue& queue, const ThrottleLimits& limits);
  void put_out_of_force(Throttle& throttle);
  void set_keys(Throttle& throttle, Queue& queue, bool has_keys);
  void begin_count(Throttle& throttle);
  void bound_bucket(Throttle& throttle, Time now);

  bool take_slot(Throttle& throttle, const Job& job);
  bool take_slot_unless_aged(Throttle& throttle, const Job& job, Time now);
  void give_back(Throttle& throttle, const Job& job);
  void release(Throttle& throttle, const Slot& slot);
  void forget_slots(Throttle& throttle);
  void count_begun(Throttle& throttle, Time now);
  void count_undone(Throttle& throttle);

  [[nodiscard]] std::vector<Place> types() const;
  [[nodiscard]] const std::string* limited_type(const Job& job);
  [[nodiscard]] Throttle& open_type(const std::string& name);
  [[nodiscard]] Throttle* type_of(const Job& job);
  void enter_type(const Job& job);
  void leave_type(const Job& job);
  void unpark_freed(Queue& queue, Time now);

  Queues& queues_;
  bool has_begun_ = false;
  ThrottleRules rules_;
  ThrottleTable table_;
  SlotHolders holders_;
  QueueLines lines_{queues_, table_};

  TypeReader type_reader_;
  bool has_types_ = false;
  bool are_types_counting_ = false;
  /// The slots of types: which of them the running job has.
  absl::flat_hash_map<JobId, Place> type_slots_;

  std::vector<Place> freed_;
  std::vector<Place> counting_;
  std::uint64_t counts_asked_ = 0;
};

}  // namespace millrace
