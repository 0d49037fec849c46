#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.hpp"
#include "core/model/job.hpp"
#include "core/model/record.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/log_order.hpp"
#include "core/state/queues.hpp"
#include "core/throttle/lines.hpp"
#include "core/throttle/throttle.hpp"

namespace millrace {

/// The limits of queues and of jobtypes, and what counts against them. Limits that an operator set
/// are stored, and win over the rules that the server was given. A rule holds for each queue or
/// type that it matches on its own.
///
/// Until `set_rules` nothing is limited: the log is read without counting.
class Throttles final : private QueueWatcher {
 public:
  /// `queues` outlives this.
  explicit Throttles(Queues& queues) : queues_(queues) { queues_.watch(*this); }
  Throttles(const Throttles&) = delete;
  Throttles& operator=(const Throttles&) = delete;

  // ---- limits -----------------------------------------------------------------------------------

  /// What reads the types of jobs. It outlives this.
  void read_types_by(const WorkUnitFormat& format) { format_ = &format; }

  /// From now on queues have limits. Queues that come into being have theirs at once; `refresh`
  /// gives them to those that are there. Types have theirs at once.
  void set_rules(ThrottleRules rules, Time now);
  [[nodiscard]] const ThrottleRules& rules() const { return rules_; }
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  /// The queue has the limits that it ought to have.
  void refresh(Queue& queue, Time now);
  /// So have the types. Their running jobs are counted anew.
  void refresh_types(Time now);

  /// By name. Those of queues that are not there are there for what is stored of them.
  using ByName = absl::btree_map<std::string, std::uint32_t, std::less<>>;
  [[nodiscard]] const ByName& by_name() const { return names_; }
  [[nodiscard]] const Throttle& at(std::uint32_t slot) const { return *throttles_[slot]; }
  [[nodiscard]] const Throttle* find(std::string_view name) const;
  [[nodiscard]] std::size_t by_hand_count() const { return by_hand_count_; }

  // ---- slots ------------------------------------------------------------------------------------

  /// To be called after a reservation of a throttled queue began, and before it changes or ends.
  /// Whether it counts.
  bool enter(Throttle& throttle, const Job& job);
  void leave(Throttle& throttle, const Job& job);
  /// As `enter`, for a reservation that was there before the limits: nothing where it is too old.
  bool count(Throttle& throttle, const Job& job, Time now);

  /// A job of the queue was handed out: it is counted, and takes a token.
  void count_begun(Throttle& throttle, Time now);
  /// It was not, after all.
  void count_undone(Throttle& throttle);

  /// Whether this worker may have one more job of the queue; asked after `Throttle::has_room`. With
  /// an empty `wid` the connection is the worker.
  [[nodiscard]] bool admits(const Throttle& throttle, std::string_view wid,
                            ClientId connection) const;

  /// The client of this ticket, and all before it, are those of workers without a free slot.
  void pass_over(Throttle& throttle, std::uint64_t ticket) { throttle.passed_over = ticket + 1; }

  /// The running job is about to be taken back from a worker that was lost.
  void count_reclaimed(const Job& job);

  /// Slots that are older than their timeout count no more.
  void age(Throttle& throttle, Time now);

  // ---- types ------------------------------------------------------------------------------------

  /// Some type may be limited: then the following is to be called for each reservation, as `enter`
  /// and `leave` are for those of a throttled queue. The job's body is in memory, but for a job
  /// that has just left.
  [[nodiscard]] bool has_types() const { return has_types_; }
  void enter_type(const Job& job);
  void leave_type(const Job& job);
  void count_type(const Job& job, Time now);
  void count_type_begun(const Job& job, Time now);
  void count_type_undone(const Job& job);
  /// The throttle may not be needed any more.
  void collect_type(const Throttle& type) { collect(type.place); }

  /// A queue that waits for this type is to be looked at again; nullopt: there is none.
  [[nodiscard]] std::optional<QueueId> unpark(Throttle& type);

  // ---- lines ------------------------------------------------------------------------------------

  /// A job has entered the ready order of a queue with lines, or has left it.
  void enter_line(Queue& queue, const Job& job, const ReadyEntry& entry) {
    queue.lines->enter(job, entry);
  }
  void leave_line(Queue& queue, const Job& job, const ReadyEntry& entry, bool comes_back);

  /// The job that the queue hands out next, if it has lines or some type is limited; nullopt: there
  /// is none, or a slice was passed over, and the queue is among `take_unfinished`. To be asked
  /// after `Throttle::has_room`. `with_body` answers the job in a slot, with its body in memory if
  /// it was pushed, and may throw.
  using WithBody = absl::FunctionRef<const Job&(JobSlot)>;
  [[nodiscard]] std::optional<ReadyEntry> next(Queue& queue, WithBody with_body, Time now);
  [[nodiscard]] std::optional<QueueId> take_unfinished();

  /// Puts a slice of jobs into the lines of a queue with keys, and frees a slice of lines that are
  /// not needed any more.
  void line_up_some(absl::FunctionRef<const Job&(JobSlot)> job_in);
  [[nodiscard]] bool has_lines_to_do() const {
    return !lining_up_.empty() || !dismissed_.empty() || !unfinished_.empty();
  }

  [[nodiscard]] LineCounts& line_counts() { return line_counts_; }
  [[nodiscard]] const LineCounts& line_counts() const { return line_counts_; }

  // ---- what is to be done -----------------------------------------------------------------------

  /// The throttle is to be looked at then, or before.
  void set_alarm(Throttle& throttle, Time at);
  /// The same, when its next token comes, if it lacks one.
  void await_token(Throttle& throttle, Time now);
  /// The throttle whose alarm is the first that rings by now; null: none. Its alarm is off.
  [[nodiscard]] Throttle* take_alarm(Time now);
  /// A throttle in which a slot became free since, and whose waiting clients were not served; null:
  /// there is none.
  [[nodiscard]] Throttle* take_freed();
  /// Those that wait are to be looked at, once more.
  void free(Throttle& throttle);
  [[nodiscard]] Time next_alarm() const {
    return freed_.empty() ? (alarms_.empty() ? kNever : alarms_.begin()->first) : kAtOnce;
  }

  /// There are reservations that are to be counted: by `count` those of queues that are counting,
  /// and all by `count_type` if types are.
  [[nodiscard]] bool is_counting() const { return !counting_.empty() || are_types_counting_; }
  [[nodiscard]] bool are_types_counting() const { return are_types_counting_; }
  /// How often a count was asked for. One that began before the last time has missed some.
  [[nodiscard]] std::uint64_t counts_asked() const { return counts_asked_; }
  /// All reservations were visited.
  void end_count();

  /// The queue with the bucket that is full by now, and of which nothing else is stored: its record
  /// is needed no more.
  [[nodiscard]] const Throttle* first_full(Time now);
  [[nodiscard]] Time next_full() const {
    return buckets_.empty() ? kNever : buckets_.begin()->first;
  }

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(ThrottleChanged&& record);
  void apply(ThrottleRemoved&& record);
  [[nodiscard]] std::optional<Lsn> oldest_place() const { return log_.oldest_place(); }
  void rewrite_oldest(std::string& batch);
  void place(Lsn begin) {
    log_.place(begin, [](Place) {});
  }
  [[nodiscard]] std::uint64_t live_bytes() const { return record_bytes_; }
  [[nodiscard]] std::size_t memory_bytes() const { return line_counts_.memory_bytes(); }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

  // Buckets are written when the batch ends.
  [[nodiscard]] bool has_unwritten() const { return !changed_.empty(); }
  std::size_t write(std::string& batch);

 private:
  using Place = std::uint32_t;  ///< in `throttles_`

  void opened(Queue& queue) override;
  void dropped(Queue& queue) override;

  Place open(std::string_view name);
  void collect(Place place);
  /// The limits that what has that name ought to have, and the pattern that they are from.
  [[nodiscard]] std::pair<ThrottleLimits, std::string> wanted(const Throttle* throttle,
                                                              std::string_view name) const;
  void look_for_limits(Queue& queue, std::optional<Time> now);
  void put_in_force(Throttle& throttle, Queue& queue, const ThrottleLimits& limits);
  void put_out_of_force(Throttle& throttle);
  void forget_slots(Throttle& throttle);
  void release(Throttle& throttle, const Slot& slot);
  void begin_count(Throttle& throttle);
  void bound_bucket(Throttle& throttle, Time now);
  void set_keys(Throttle& throttle, Queue& queue, bool has_keys);
  void dismiss_lines(Queue& queue);
  void unpark_freed(Queue& queue, Time now);
  [[nodiscard]] std::vector<Place> types() const;
  [[nodiscard]] bool is_limited(std::string_view jobtype);
  [[nodiscard]] const std::string* limited_type(const Job& job);
  [[nodiscard]] Throttle& open_type(const std::string& name);
  [[nodiscard]] Throttle* type_of(const Job& job);
  SlotHolder& holder_of(const Reservation& held);
  [[nodiscard]] SlotHolder* find_holder(std::string_view wid, ClientId connection) const;
  void forget(const SlotHolder& holder);
  void set_full_at(Throttle& throttle, Time full_at);
  void look_at_bucket(Throttle& throttle, Time at);
  void enter_log(Place place);
  void leave_log(Place place);
  [[nodiscard]] static bool has_record(const Throttle& throttle) {
    return throttle.by_hand || throttle.full_at != Time{};
  }

  Queues& queues_;
  bool has_begun_ = false;
  ThrottleRules rules_;
  std::vector<std::unique_ptr<Throttle>> throttles_;
  std::vector<Place> free_places_;
  ByName names_;
  std::size_t by_hand_count_ = 0;

  /// The holders have addresses that stay.
  TextMap<std::unique_ptr<SlotHolder>> workers_;
  absl::flat_hash_map<ClientId, std::unique_ptr<SlotHolder>> connections_;

  const WorkUnitFormat* format_ = nullptr;
  bool has_types_ = false;
  bool are_types_counting_ = false;
  /// The slots of types: which of them the running job has.
  absl::flat_hash_map<JobId, Place> type_slots_;
  /// The type that was read last, and what was found of it. To read one costs more than this.
  struct TypeAtHand {
    std::string part;  ///< see `WorkUnitFormat::Type::bytes`; empty: none was read
    std::string name;  ///< as that of a throttle
    bool is_limited = false;
  };
  TypeAtHand type_at_hand_;
  /// A job that is touched leaves and enters at once, and its body may be in the log only.
  struct TypeThatLeft {
    JobId job = 0;
    std::string name;
  };
  TypeThatLeft type_that_left_;

  LineCounts line_counts_;
  absl::flat_hash_map<QueueId, std::unique_ptr<Lines>> lines_;
  std::vector<QueueId> lining_up_;
  std::vector<QueueId> unfinished_;
  std::vector<std::unique_ptr<Lines>> dismissed_;

  absl::btree_set<std::pair<Time, Place>> alarms_;
  std::vector<Place> freed_;
  std::vector<Place> counting_;
  std::uint64_t counts_asked_ = 0;
  absl::btree_set<std::pair<Time, Place>> buckets_;  ///< when to look whether they are full
  std::vector<Place> changed_;

  struct NodeOf {
    std::vector<std::unique_ptr<Throttle>>* throttles;
    LogNode& operator()(Place place) const { return *(*throttles)[place]->log; }
  };
  LogOrder<NodeOf> log_{NodeOf{&throttles_}};
  std::uint64_t record_bytes_ = 0;
};

}  // namespace millrace
