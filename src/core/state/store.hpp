#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/model/due_order.hpp"
#include "core/model/record.hpp"
#include "core/model/wall_clock.hpp"
#include "core/state/batches/job_batches.hpp"
#include "core/state/features/audit_log.hpp"
#include "core/state/features/cron_entries.hpp"
#include "core/state/features/ended_pushes.hpp"
#include "core/state/features/error_marks.hpp"
#include "core/state/features/finished_jobs.hpp"
#include "core/state/features/log_clock.hpp"
#include "core/state/features/saved_views.hpp"
#include "core/state/features/stored_secret.hpp"
#include "core/state/features/tokens.hpp"
#include "core/state/features/tracks.hpp"
#include "core/state/jobs.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/queues.hpp"
#include "core/state/throttle/throttles.hpp"
#include "core/state/totals.hpp"

namespace millrace {

/// The whole state that the log tells: jobs, batches of jobs, queues, totals, days, tracks, cron
/// entries, throttles, pushes whose jobs have ended, jobs that have, the secret of locks, marks of
/// errors, changes that people made, views that they saved, tokens. Records come in by `apply`,
/// whether live, at a start or on a standby, and nothing else changes a job.
///
/// Each is a kind of live thing (`core/state/live_kind.hpp`), listed in `kinds`. What is said
/// here of the log holds for every kind that is in that list.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Makes the record true. To be called with the records in the order of the log. Each whole
  /// record counts as being in the batch, until `place`.
  void apply(Record&& record);
  template <RecordKind Kind>
  void apply(Kind&& record);

  /// From now on records are read from the log.
  void set_replaying(bool is_replaying) {
    queues_.set_replaying(is_replaying);
    jobs_.bodies().set_replaying(is_replaying);
  }

  /// See `Jobs::read_names_by`.
  void read_names_by(const WorkUnitFormat& format) { jobs_.read_names_by(format); }

  [[nodiscard]] const Jobs& jobs() const { return jobs_; }
  [[nodiscard]] Queues& queues() { return queues_; }
  [[nodiscard]] const Queues& queues() const { return queues_; }
  [[nodiscard]] Totals& totals() { return totals_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] JobBatches& batches() { return batches_; }
  [[nodiscard]] const JobBatches& batches() const { return batches_; }
  [[nodiscard]] const Days& days() const { return days_; }
  [[nodiscard]] Throttles& throttles() { return throttles_; }
  [[nodiscard]] const Throttles& throttles() const { return throttles_; }
  [[nodiscard]] const CronEntries& cron() const { return cron_; }
  [[nodiscard]] const ErrorMarks& error_marks() const { return error_marks_; }
  [[nodiscard]] const AuditLog& audit_log() const { return audit_log_; }
  [[nodiscard]] const SavedViews& saved_views() const { return saved_views_; }
  [[nodiscard]] const Tokens& tokens() const { return tokens_; }
  [[nodiscard]] const StoredSecret& lock_secret() const { return lock_secret_; }
  [[nodiscard]] Tracks& tracks() { return tracks_; }
  [[nodiscard]] const Tracks& tracks() const { return tracks_; }
  [[nodiscard]] const EndedPushes& ended_pushes() const { return ended_pushes_; }
  [[nodiscard]] FinishedJobs& finished() { return finished_; }
  [[nodiscard]] const FinishedJobs& finished() const { return finished_; }
  [[nodiscard]] const LogClock& log_clock() const { return log_clock_; }

  // ---- the wall clock ---------------------------------------------------------------------------

  /// Not part of what the log tells: the owner says what the clock shows.
  void set_wall_clock(WallClock clock) { wall_clock_ = clock; }
  [[nodiscard]] WallClock wall_clock() const { return wall_clock_; }

  /// The jobs of `JobOrders::scheduled`, or those of a queue's `delayed`, soonest first.
  [[nodiscard]] MergedDue scheduled() const { return {jobs_.orders().scheduled(), wall_clock_}; }
  [[nodiscard]] MergedDue delayed(const Queue& queue) const { return {queue.delayed, wall_clock_}; }

  // ---- all kinds --------------------------------------------------------------------------------

  /// What the ledger does with each: writes it at the end of a batch, places it, compacts it. In
  /// the order in which they are written.
  static void each_kind(auto& store, auto&& visit) {
    std::apply([&visit](auto&... kind) { (visit(kind), ...); }, kinds(store));
  }

  /// See `Jobs::rewrite`.
  void rewrite_job(JobId id, std::string& batch) { jobs_.rewrite(id, batch); }
  void set_batch_begin(std::size_t begin) { jobs_.set_batch_begin(begin); }

  /// About what all of it takes in memory, as `--memory-limit` counts it.
  [[nodiscard]] std::size_t memory_bytes() const;

  /// True when these are the kinds whose things FLUSH removes.
  template <LiveKind... Flushed>
  static consteval bool are_flushed() {
    const auto is_right = []<typename Kind>(std::type_identity<Kind>) {
      const bool is_listed = (std::same_as<Kind, Flushed> || ...);
      return is_listed == (Kind::kAtFlush == AtFlush::kRemoved);
    };
    const auto are_right = [&]<typename... Kinds>(std::type_identity<std::tuple<Kinds&...>>) {
      return (is_right(std::type_identity<Kinds>{}) && ...);
    };
    // Generic, since `kinds` is not known here yet.
    return [&]<typename Self>(std::type_identity<Self>) {
      return are_right(std::type_identity<decltype(kinds(std::declval<Self&>()))>{});
    }(std::type_identity<Store>{});
  }

 private:
  /// Every kind there is. The records of a kind that is not here have none that applies them, and
  /// `apply` does not compile. Totals are last: they end a batch
  /// (docs/internals/decisions/replies-and-durability.md).
  static auto kinds(auto& self) {
    return std::tie(self.queues_, self.throttles_.table(), self.jobs_, self.tracks_, self.batches_,
                    self.days_, self.cron_, self.error_marks_, self.lock_secret_,
                    self.ended_pushes_, self.finished_, self.audit_log_, self.saved_views_,
                    self.tokens_, self.log_clock_, self.totals_);
  }

  Totals totals_;
  Queues queues_;
  Throttles throttles_{queues_};
  Jobs jobs_{queues_, totals_, throttles_};
  JobBatches batches_{totals_};
  Days days_;
  CronEntries cron_;
  ErrorMarks error_marks_;
  StoredSecret lock_secret_;
  Tracks tracks_;
  EndedPushes ended_pushes_;
  FinishedJobs finished_;
  AuditLog audit_log_;
  SavedViews saved_views_;
  Tokens tokens_;
  LogClock log_clock_;
  WallClock wall_clock_;
};

template <RecordKind Kind>
void Store::apply(Kind&& record) {
  std::apply([&record](auto&... kinds) { apply_to_its_kind(std::move(record), kinds...); },
             kinds(*this));
}

}  // namespace millrace
