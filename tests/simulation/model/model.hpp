#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/features/attempt.hpp"
#include "core/model/job.hpp"
#include "core/model/refusal.hpp"
#include "simulation/model/command.hpp"
#include "simulation/model/features.hpp"

namespace millrace::simulation {

/// A client, from 1; never used twice.
using ClientNumber = int;

/// A run that did not end well.
struct ModelAttempt {
  AttemptEnd end = AttemptEnd::kFailed;
  Time began{};
  Time ended{};
  std::string wid;  ///< empty: a connection held the job
  bool is_told_by_failure = false;
  std::string message;  ///< once another one is told by the failure
};

struct ModelJob {
  std::string name;  ///< of a pushed one: its jid; of a put one: its body
  bool is_pushed = false;
  std::string type;  ///< of a pushed one
  std::string queue;
  Pri pri = 0;
  Sequence sequence = 0;
  std::uint32_t ttr_s = 1;
  std::int64_t retry = 25;
  std::int64_t failures = 0;
  std::string error;  ///< the message of the last failure
  std::vector<ModelAttempt> attempts;
  JobState state = JobState::kReady;
  /// Scheduled, retrying: when due. Reserved: the deadline. Dead: since when.
  Time due{};
  /// Its `due`, while it is scheduled, is a time of the wall clock: it was pushed with one.
  bool follows_wall = false;
  std::uint32_t delay_s = 0;  ///< of a scheduled one that does not
  /// Retrying: a back-off has a random part, so the job may be due anywhere from `due` to here.
  Time due_latest{};
  ModelFeatures features;

  // While it is reserved:
  ClientNumber client = 0;  ///< the connection that holds it, 0: a worker does
  std::string wid;
  Time reserved_at{};
  std::set<std::string> aged;  ///< limits that count it no more, since it runs for too long
  bool holder_beats = false;   ///< its worker had sent a BEAT when it took the job
  bool is_lengthened = false;  ///< TRACK SET has asked for longer than `ttr_s`
  // While a connection holds it: where it is after a restart.
  JobState state_before = JobState::kReady;
  Time due_before{};
  bool held_lock_before = false;
  Time lock_ends_before{};
  /// After a restart: a connection held it, and it may have been written once more, as ready; and
  /// then with the lock that it held.
  bool may_be_ready = false;
  bool would_hold_lock = false;
  Time lock_would_end{};
};

/// A job as it is pushed.
[[nodiscard]] ModelJob pushed(const JobText& job, const ModelFeatures& features);

/// The name that ACK and FAIL use for the job.
[[nodiscard]] std::string jid_of(JobId id, const ModelJob& job);

/// beanstalk calls what is below urgent.
inline constexpr Pri kUrgentBelow = 1024;

/// What is handed out at most of a queue, or of a type; 0: any number.
struct ModelLimits {
  std::uint32_t concurrency = 0;
  std::uint32_t worker = 0;   ///< to one worker
  std::uint32_t per_key = 0;  ///< of one key
  Duration timeout{};         ///< what runs for longer counts no more

  [[nodiscard]] bool has_any() const { return concurrency != 0 || worker != 0 || per_key != 0; }
};

/// How a job ends.
enum class ModelEnd { kSucceeded, kFailed, kGone, kExpired };

/// What is remembered of a job that has ended.
struct ModelFinished {
  JobId id = 0;
  std::string queue;
  ModelEnd how = ModelEnd::kGone;
  Time ended_at{};
  std::string wid;  ///< the worker that ran it to its end, also late
};

/// What an operator has said of an error.
struct ModelMark {
  Time muted_until{};
  std::uint64_t muted_below = 0;
  std::string note;
  Time noted_at{};
};

/// By which the changes come that the model knows. Those of workers' commands are noted too.
inline const std::string kPerson = "person";

/// What a person has changed.
struct ModelChange {
  std::string action;
  std::optional<std::uint64_t> jobs;  ///< to how many; nullopt: not known
};

inline constexpr std::size_t kModelChangesMax = 16;

/// By name: `kThrottledQueue`, `kLimitedType`.
using LimitsByName = std::map<std::string, ModelLimits>;

/// What outlives the process.
struct Facts {
  std::map<JobId, ModelJob> jobs;
  std::map<std::string, Time> pauses;  ///< by queue, until when
  std::set<std::string> kept;          ///< queues that stay when empty
  std::map<int, ModelBatch> batches;   ///< by the model's number
  int next_batch = 1;
  std::map<std::string, ModelTrack> tracks;  ///< by jid
  LimitsByName limits_by_hand;
  std::map<std::uint64_t, ModelMark> marks;      ///< by the number of the error
  std::map<std::string, std::string> views;      ///< queries by the names of views
  std::map<std::uint64_t, ModelChange> changes;  ///< by their number
  std::map<std::string, Time> tokens;            ///< by name: when it expires, by the wall clock
  /// By jid and queue, when the job ended.
  std::map<std::pair<std::string, std::string>, Time> ended_pushes;
  /// In the order of their ends: the last ones, and all that ended together with the first of them.
  std::deque<ModelFinished> finished;
  JobId next_id = 1;
  std::uint64_t processed = 0;
  std::uint64_t failed = 0;
};

/// A job as a client was handed it: what all changes before have left.
struct HandedOut {
  JobId id = 0;  ///< 0: none
  Pri pri = 0;
  std::int64_t failures = 0;
  bool was_ready = false;
  Time at{};
};

/// A reply that must come next. One part is the whole reply; several are in it in their order,
/// the first at its beginning.
struct Expected {
  std::vector<std::string> parts;
  Time fetched_at{};
  JobId fetched = 0;         ///< the reply hands this job to a worker
  HandedOut handed_out;      ///< the reply hands it to whichever client
  int new_batch = 0;         ///< the reply names this batch
  bool may_be_late = false;  ///< all is done that it tells of, and it comes when the server sees so
};

/// Whether it is the reply that was expected.
[[nodiscard]] bool matches(const std::string& reply, const Expected& expected);
[[nodiscard]] std::string text_of(const Expected& expected);

/// What both servers promise, written down as plainly as possible: no index, no order kept, every
/// question answered by looking at everything. It knows nothing of the core's code. It is told what
/// the clients say and when time passes, in the order in which that happens to the server, and
/// foretells every reply.
class Model {
 public:
  Facts facts;

  // ---- what happens -----------------------------------------------------------------------------

  void connect_beanstalk(ClientNumber client);
  void connect_worker(ClientNumber client, const std::string& wid, Time now);

  void execute(ClientNumber client, const Command& command, Time now);

  /// What the wall clock is ahead of the time that all are told.
  void set_wall_ahead(Duration ahead) { wall_ahead_ = ahead; }
  [[nodiscard]] Duration wall_ahead() const { return wall_ahead_; }

  /// For how long after the end of its job a push is known.
  void set_push_memory(Duration after_end) { push_memory_ = after_end; }

  /// So many jobs that have ended outlive the process; 0: none.
  void set_finished_max(std::size_t jobs) { finished_max_ = jobs; }
  [[nodiscard]] std::size_t finished_max() const { return finished_max_; }

  /// From now on the server takes on no more than this.
  void set_admission(Admission admission) { admission_ = admission; }

  /// Whether the server has moved a job on from where it is here. What is many it moves in
  /// slices, in the order that is foretold; how far a slice goes is all that it is asked for.
  std::function<bool(JobId, const ModelJob&)> has_moved = [](JobId, const ModelJob&) {
    return true;
  };

  /// The job that the server has pushed as that callback; 0: it has not yet. In which turn it does
  /// so is its business, since it works on batches in slices. Whether it may is foretold.
  std::function<JobId(const std::string& bid, const std::string& role)> callback_job =
      [](const auto&, const auto&) { return JobId{0}; };
  /// The server still has the batch. Of several that may be forgotten it may begin with any.
  std::function<bool(const std::string& bid)> has_batch = [](const auto&) { return true; };

  /// Tells, by `evict` and `forget_worker`, which workers the server has sent away.
  std::function<void(Time now)> send_away = [](Time) {};

  /// Finds out when what has failed is tried again.
  std::function<void()> settle_times = [] {};

  /// The limits, as a new process is told them.
  void set_limits(const LimitsByName& limits, Time now);
  /// Jobs of workers that are gone for a minute come back, as a new process is told.
  void set_worker_rules(Time now);
  /// An operator sets others, which win. Refused where records must not grow.
  [[nodiscard]] bool set_limits_by_hand(const std::string& name, const ModelLimits& limits,
                                        Time now);

  /// One says that of an error, or nothing any more, which is never refused.
  [[nodiscard]] bool mark_error(std::uint64_t error, const ModelMark& mark, Time now);

  /// One saves that view, or removes it, which is refused only where it is not there.
  [[nodiscard]] bool save_view(const std::string& name, const std::string& query);
  /// A user makes a token. Refused where records must not grow, or while there is one of the name.
  [[nodiscard]] bool add_token(const std::string& name, Time expires_at, Time now);

  /// An administrator retries all that are dead, or that are retrying: they become ready evenly
  /// within so long.
  void spread_retries(JobState set, Duration within, Time now);

  /// An administrator moves a job to another queue. False: there is no such job, somebody holds it,
  /// it is there already, or new jobs are refused.
  [[nodiscard]] bool move(JobId id, const std::string& to, Time now);

  /// Everything that is due happens, in slices.
  void tick(Time now);

  /// The server wants to be rid of a worker, and closes this connection of it soon. True when it
  /// may: the worker has not been heard of for a minute, and holds no job.
  [[nodiscard]] bool evict(ClientNumber client, Time now);

  /// The server knows of no such worker any more, whose connections may be there still. The same.
  [[nodiscard]] bool forget_worker(const std::string& wid, Time now);

  /// The client has closed its sending side: it does not wait any more.
  void end_input(ClientNumber client);

  /// The connection is gone. The fetches in `unsent` never reached it.
  struct Fetch {
    JobId id;
    Time reserved_at;
  };
  void leave(ClientNumber client, const std::vector<Fetch>& unsent, Time now);

  /// The process is gone, and a new one has read the log.
  void restart();

  // ---- what must be so --------------------------------------------------------------------------

  /// Takes the reply that the client must get next; nullopt: none.
  std::optional<Expected> take_expected(ClientNumber client);

  /// The server has given the new batch that name.
  void name_batch(int batch, const std::string& bid);

  /// It has not come yet: it must come later.
  void postpone(ClientNumber client, Expected expected);

  /// What it says next will not be answered before something else is.
  [[nodiscard]] bool is_waiting(ClientNumber client) const;
  /// An operation on many jobs continues.
  [[nodiscard]] bool is_working() const { return !tasks_.empty(); }
  /// Something should have happened by then, and has not.
  [[nodiscard]] bool is_overdue(Time now) const;
  [[nodiscard]] bool exists(const std::string& queue) const;
  [[nodiscard]] bool is_paused(const std::string& queue, Time now) const;

  /// A worker is lost for longer than the server needs to see it, and still holds a job.
  [[nodiscard]] bool has_lost_job(Time now) const;

  /// When the second of the pauses ends that are still to end, as of the last tick; kNever when
  /// there are not so many. Which of two that end in one tick is served first is nobody's business,
  /// and so not foretold.
  [[nodiscard]] Time second_pause_end() const;

  /// It was pushed before, and the job lives, or has not ended for too long. No two jobs that
  /// differ have one name. The job that a worker holds is another one for this worker.
  [[nodiscard]] bool is_repeated(const JobText& job, const std::string& wid, Time now) const;
  /// A callback that the server has pushed, and that is not due; empty: there is none. To be asked
  /// when the model has caught up with the server.
  [[nodiscard]] std::string undue_callback() const;

  // What is counted of a batch is counted by looking at all jobs and batches.
  struct BatchCounts {
    std::uint64_t pending = 0;
    std::uint64_t failing = 0;
    std::uint64_t unexecuted = 0;
    std::uint64_t children = 0;
    std::uint64_t unsettled = 0;
    std::uint64_t unsuccessful = 0;
  };
  [[nodiscard]] BatchCounts counts_of(int batch) const;

  /// How many jobs count against these limits.
  [[nodiscard]] std::uint64_t slots_taken(const std::string& limits) const;
  /// How many of the throttled queue count against the limit of this key.
  [[nodiscard]] std::uint64_t slots_of_key(const std::string& key) const;

  /// Jobs of a queue (empty: of all) in a state, in the order in which they come.
  [[nodiscard]] std::vector<JobId> in_order(JobState state, const std::string& queue) const;

 private:
  struct Wait {
    std::uint64_t ticket = 0;
    std::vector<std::string> queues;
    Time until = kNever;
  };
  struct Client {
    bool is_worker = false;
    std::string wid;
    std::string used;
    std::vector<std::string> watched;
    std::optional<Wait> wait;
    std::deque<Expected> expected;
  };

  /// An operation on many jobs.
  struct Task {
    ClientNumber client = 0;  ///< 0: gone
    Command command;
    std::string queue;     ///< kick
    JobState set{};        ///< of which jobs
    std::uint64_t left{};  ///< kick: how many more
    std::uint64_t moved{};
    JobId id_end = 0;  ///< mutate: what came into line later stays
    std::pair<Time, JobId> after{Time::min(), 0};
    std::pair<Time, JobId> last{};  ///< mutate, and kick of dead ones
  };

  void expect(ClientNumber client, const std::string& whole) {
    clients_.at(client).expected.push_back({.parts = {whole}});
  }
  void expect_parts(ClientNumber client, std::vector<std::string> parts) {
    clients_.at(client).expected.push_back({.parts = std::move(parts)});
  }
  void expect_job(ClientNumber client, const std::string& word, JobId id);
  void expect_stats(ClientNumber client, const std::string& queue);
  void expect_info(ClientNumber client);

  [[nodiscard]] bool takes_longer() const { return admission_ < Admission::kNoGrowth; }
  [[nodiscard]] bool takes_reservations() const { return admission_ < Admission::kEndingsOnly; }

  /// When it is due, whichever clock it follows.
  [[nodiscard]] Time due_of(const ModelJob& job) const;

  ModelJob* find(JobId id);
  ModelJob* held(ClientNumber client, JobId id);
  /// What a worker means that reports a job of that name; 0: none.
  struct Meant {
    JobId held = 0;
    JobId late = 0;       ///< its run was taken from it, and the job waits to run again
    JobId overtaken = 0;  ///< another worker runs it by now
  };
  void acknowledge(ClientNumber client, const Meant& meant, Time now);
  [[nodiscard]] Meant meant_by(ClientNumber client, const std::string& jid);
  using QueueGroups = std::vector<std::vector<std::string>>;
  [[nodiscard]] JobId choose(ClientNumber client, const QueueGroups& groups, Time now);
  [[nodiscard]] JobId next_of(ClientNumber client, const std::vector<std::string>& queues,
                              Time now);
  [[nodiscard]] JobId first_of(const std::vector<std::string>& queues, Time now) const;

  using End = ModelEnd;

  JobId draw_id(Time now);
  void add(const ModelJob& job, Time now);
  void enter(ModelJob& job, JobState state, Time now);
  void end(JobId id, End how, Time now);
  void make_ready(JobId id, Time now);
  void make_dead(JobId id, Time now);
  void change_queue(JobId id, const std::string& to, Time now);
  void hand_out(ClientNumber client, JobId id, Time now);
  void serve(std::string queue, Time now);
  void fail(JobId id, AttemptEnd end, const std::string& message, Time now);
  void note_attempt(ModelJob& job, const ModelAttempt& attempt, Time now);
  void expire(JobId id, Time now);
  void pause(const std::string& queue, Time until, Time now);
  void forget_unused();
  [[nodiscard]] bool is_needed(const std::string& queue) const;
  [[nodiscard]] bool is_deadline_soon(ClientNumber client, Time now) const;

  // Features of jobs (model_features.cpp).
  [[nodiscard]] Time wall(Time now) const { return now + wall_ahead_; }
  [[nodiscard]] JobId lock_holder(const std::string& lock, Time now) const;
  void take_lock(ModelJob& job);
  void follow_lock(ModelJob& job, JobState former, Time now);
  /// It is not dead, or nobody else has its lock.
  [[nodiscard]] bool may_come_back(const ModelJob& job, Time now) const;
  // A copy of the name: the job that it is of may go.
  void clear_front(std::string queue, Time now);
  void remove_expired(Time now);
  void end_track(JobId id, const ModelJob& job, End how, Time now);
  void remove_old_tracks(Time now);
  void note_end_of_push(const ModelJob& job, Time now);
  void note_finished(JobId id, const ModelJob& job, End how, Time now);
  void forget_old_pushes(Time now);
  void set_track(ClientNumber client, const Command& command, Time now);
  void lengthen(ClientNumber client, const Command& command, Time now);
  void expect_track(ClientNumber client, const std::string& jid);
  [[nodiscard]] const ModelJob* tracked_job(const std::string& jid) const;
  [[nodiscard]] ModelFeatures features_of(const JobText& job, Time now) const;
  [[nodiscard]] std::string refusal_of(const JobText& job, Time now) const;

  // Throttles (model_throttles.cpp).
  [[nodiscard]] ModelLimits limits_of(const std::string& name) const;
  /// By name, those in force.
  [[nodiscard]] LimitsByName all_limits() const;
  [[nodiscard]] bool counts(const ModelJob& job, const std::string& limits) const;
  [[nodiscard]] bool is_passed_over(const ModelJob& job) const;
  [[nodiscard]] bool is_open(const std::string& queue, ClientNumber client) const;
  [[nodiscard]] bool has_keys(const std::string& queue) const;
  [[nodiscard]] JobId next_in_turn() const;
  void note_ready(const ModelJob& job);
  void note_turn(const std::string& key);
  void line_up();
  void look_at_slots(Time now);
  void serve_waiting(Time now);

  // Workers that are gone (model_workers.cpp).
  void note_gone(const std::string& wid, Time now);
  bool forget_beats(const std::string& wid);
  void bring_back_lost(Time now);
  [[nodiscard]] bool is_connected(const std::string& wid) const;
  [[nodiscard]] bool is_lost(const ModelJob& job, Time now) const;
  [[nodiscard]] static ModelAttempt* taken_from(const std::string& wid, ModelJob& job);

  // Batches (model_batches.cpp).
  [[nodiscard]] Callback state_of(const ModelBatch& batch, const std::string& role,
                                  Callback absent) const;
  [[nodiscard]] bool is_executed(int batch) const;
  [[nodiscard]] bool is_completed(int batch) const;
  [[nodiscard]] bool is_all_good(int batch) const;
  [[nodiscard]] bool is_settled(int batch) const;
  [[nodiscard]] bool is_successful(int batch) const;
  [[nodiscard]] bool is_finished(int batch) const;
  [[nodiscard]] bool is_due(int batch, const std::string& role) const;
  [[nodiscard]] bool has_children(int batch) const;
  void join_batch(const ModelFeatures& features, Time now);
  void end_in_batch(JobId id, const ModelJob& job, End how);
  /// True when it pushed one.
  bool push_callbacks(Time now);
  bool push_callback(Time now);
  void work_on_batches(Time now);
  void end_batches(Time now);
  void end_open_batches(Time now);
  void make_batch(ClientNumber client, const Command& command, Time now);
  void use_batch(ClientNumber client, const Command& command, Time now);
  void expect_status(ClientNumber client, int batch);

  bool execute_beanstalk(ClientNumber client, const Command& command, Time now);
  bool execute_held(ClientNumber client, const Command& command, Time now);
  void execute_worker(ClientNumber client, const Command& command, Time now);
  void push(ClientNumber client, const Command& command, Time now);
  void reserve(ClientNumber client, Time until, Time now);
  void fetch(ClientNumber client, const std::vector<std::string>& queues, Time now);
  void kick(ClientNumber client, const Command& command, Time now);
  bool remove(ClientNumber client, JobId id, Time now);
  void mutate(ClientNumber client, const Command& command, Time now);
  void start(Task task, Time now);
  bool work(Task& task, Time now);
  bool work_kick(Task& task, Time now);
  bool work_mutate(Task& task, Time now);
  [[nodiscard]] std::vector<JobId> kickable(const Task& task) const;
  void release_held(ClientNumber client, Time now);
  void remove_queue(const std::string& queue, Time now);
  void flush();

  std::map<ClientNumber, Client> clients_;
  std::set<ClientNumber> departed_;  ///< gone, and some of what they held is not released yet
  std::deque<Task> tasks_;
  std::map<std::string, Time> beats_;  ///< by wid, when the worker was last heard of
  std::uint64_t next_ticket_ = 1;
  Time ticked_at_{};
  Duration wall_ahead_{};
  Admission admission_ = Admission::kEverything;
  Duration push_memory_{};
  std::size_t finished_max_ = 0;
  LimitsByName limits_;            ///< as the process was told
  bool brings_back_lost_ = false;  ///< the process was told to
  struct Gone {
    Time lost_at{};
    Time noted_at{};  ///< the server, too, learns of it then
    bool has_beaten = false;
  };
  std::map<std::string, Gone> gone_;  ///< workers without a connection
  std::set<std::string> beating_;     ///< connected workers that have sent a BEAT, steadily
  Time start_ends_{};                 ///< until then workers of before the start may come back
  std::set<std::string> dropping_;    ///< connected workers that have lost a connection since
  std::set<std::string> takers_;      ///< workers that had a job since the start
  bool has_expiring_ = false;         ///< a job was pushed that expires
  std::set<std::string> unserved_;    ///< queues that those who wait for them look at next
  std::vector<std::string> turns_;    ///< keys of the throttled queue, the next one first
  std::set<std::string> stuck_;       ///< queues that hand out nothing in the look at hand
  /// Queues that nobody needs, and that a restart brought back since they were paused: until the
  /// pause is over, or somebody has needed them and does not any more.
  std::set<std::string> restored_;
};

}  // namespace millrace::simulation
