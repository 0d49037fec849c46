#pragma once

#include <absl/container/btree_set.h>

#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "core/broker/broker.hpp"
#include "core/model/client.hpp"
#include "core/state/ledger.hpp"
#include "core/state/view.hpp"

/// The broker's inside, shared by its .cpp files and seen by nobody else.
namespace millrace {

/// Random numbers from a seed (SplitMix64, Steele and others 2014): the same seed, the same
/// numbers.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}
  std::uint64_t draw() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// An operation too long for one turn. It goes on by slices in `tick`.
struct LongTask {
  enum class Kind { kKickDead, kKickDelayed, kFlush, kMutate, kRemoveQueues, kPauseQueues };

  Kind kind = Kind::kFlush;
  ClientId client = 0;  ///< who is told the end
  QueueId queue = 0;
  std::uint64_t left = 0;  ///< kick: how many more
  std::uint64_t moved = 0;
  JobId id_end = 0;  ///< flush, mutate, remove: what is younger, or came into line later, stays
  JobSlot next_slot = 0;
  std::uint64_t next_queue = 0;
  std::uint64_t queue_end = 0;  ///< flush: queues that came into being later stay

  Mutation mutation = {};
  TimeEntry after = {.when = Time::min()};  ///< mutate: so far it has come
  TimeEntry last = {};                      ///< mutate: the end of the set when it began

  std::vector<std::string> names = {};  ///< remove, pause: the queues
  std::optional<std::uint32_t> pause_s = {};
  std::size_t next_name = 0;
  ReadyEntry after_ready = {};  ///< remove: so far it has come in the queue at hand
};

struct Broker::State {
  State(Ledger& given, const WorkUnitFormat& work_unit_format, const Options& chosen)
      : ledger(given),
        format(work_unit_format),
        options(chosen),
        chance(chosen.random_seed),
        view(ledger, clients, workers, tally) {}

  Ledger& ledger;
  const WorkUnitFormat& format;
  const Options options;
  Clients clients;
  Workers workers;
  Tally tally;
  Chance chance;
  View view;

  ClientId next_client = 1;
  std::uint64_t next_ticket = 1;
  std::vector<ClientId> woken;
  absl::btree_set<std::pair<Time, ClientId>> alarms;  ///< of waits that can end without a job
  std::set<QueueId> unserved;     ///< queues where a slice ended before all waiting were served
  std::deque<ClientId> departed;  ///< closed connections that still hold jobs
  std::deque<LongTask> long_tasks;
  Time next_reaping = kNever;
  Intake intake = Intake::kEverything;
  std::uint64_t step_count = 0;

  Store& store() { return ledger.store(); }
  /// A slice ends, however few jobs it has moved: what they say of failures can be long. Where room
  /// is short, sooner.
  [[nodiscard]] bool is_batch_long() const {
    return ledger.batch_bytes() >=
           (intake == Intake::kEverything ? kBatchBytesPause : kBatchBytesPause / 8);
  }
  /// Whether records of jobs and queues may become longer.
  [[nodiscard]] bool takes_longer() const { return intake < Intake::kNothingLonger; }

  // ---- jobs (job_moves.cpp): each commits one record --------------------------------------------

  /// Into the ready line, and to who waits for it.
  void make_ready(const Job& job, JobFields fields, Time now);
  void make_dead(const Job& job, JobFields fields, Time now);
  const Job& hold(const Job& job, Reservation reservation, Time now);
  void drop(const Job& job);
  void kick(const Job& job, Time now);
  Answer<Done> pause(std::string_view name, std::optional<std::uint32_t> seconds, Time now);
  void keep_queue(const Queue& queue);
  /// A run of the job has ended.
  void count_run(const Job& job, Time now);
  /// A failed run, reported or by expiry.
  void fail(const Job& job, FailedRun run, Time now);
  void release_expired(const Job& job, Time now);
  [[nodiscard]] Time time_of_death(Time now) const;

  // ---- waiting (waiting.cpp) --------------------------------------------------------------------

  /// Hands ready jobs of the queue to who waits for it, at most a slice. Answers how many.
  std::size_t serve(QueueId queue, Time now);
  /// A job has just been taken out of the queue's line: the next ones will soon be wanted.
  void expect_next(Queue& queue);
  [[nodiscard]] const Job* choose(const Client& client, const ReserveRequest& request, Time now);
  void begin_wait(Client& client, const ReserveRequest& request);
  void end_wait(Client& client);
  void deliver(Client& client, const Delivery& delivery, Time now);
  [[nodiscard]] Time deadline_soon_at(ClientId client) const;
  /// The alarm of a waiting client: its wait ends, or the alarm was early and is set anew.
  void ring(Client& client, Time now);

  // ---- slices (broker_tick.cpp): each does at most a slice, and leaves the rest to the next tick
  // --

  void enqueue_due(const TimeOrder& order, std::uint64_t& counter, Time now);
  void expire_reservations(Time now);
  void release_departed(Time now);
  /// True when the client holds nothing any more.
  bool release_held(ClientId client, Time now);
  void end_pauses(Time now);
  void serve_unserved(Time now);
  void ring_alarms(Time now);
  void work_long_tasks(Time now);
  void reap_workers(Time now);
  /// A worker that is told to stop waits for no further job.
  void end_waits_of(const Worker& worker, Time now);
  void purge_dead(Time now);
  /// When the oldest dead job that was pushed is to go; kNever when there is none.
  [[nodiscard]] Time next_purge() const;
  [[nodiscard]] Time next_deadline() const;

  // ---- long operations (long_task.cpp) ----------------------------------------------------------

  /// One slice; true when the task is through.
  bool work(LongTask& task, Time now);
  bool work_kick(LongTask& task, Time now);
  bool work_flush(LongTask& task);
  bool work_mutate(LongTask& task, Time now);
  bool work_remove(LongTask& task, Time now);
  bool work_pause(LongTask& task, Time now);
  /// True when no ready job of the queue is left to remove; counts its steps.
  bool empty_queue(LongTask& task, Queue& queue, std::size_t& steps);
  void mutate(const Job& job, Mutation::Action action, Time now);
  /// Works its first slice. How many jobs it moved if that was all; else it goes on in `tick`.
  std::optional<std::uint64_t> start(LongTask task, Time now);

  [[nodiscard]] Client& client_of(ClientId id);
  /// Where in the list of what it watches.
  [[nodiscard]] std::optional<std::size_t> place_of(const Client& client, QueueId queue);
  [[nodiscard]] const Job* held_job(ClientId client, JobId id);
  /// The job that the client means by this name, among those that workers hold.
  [[nodiscard]] const Job* named_job(ClientId client, std::string_view jid);
};

}  // namespace millrace
