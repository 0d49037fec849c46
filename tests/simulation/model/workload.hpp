#pragma once

#include <deque>
#include <optional>
#include <string>

#include "simulation/model/command.hpp"
#include "simulation/model/model.hpp"
#include "simulation/random.hpp"

namespace millrace::simulation {

/// How much clients say, and how much of it at a time.
struct WorkloadSizes {
  std::size_t jobs_max = 40;         ///< with so many, clients finish rather than put,
  std::size_t jobs_kept = 39;        ///< until so many are left
  std::size_t body_bytes_max = 200;  ///< most bodies are shorter
  std::size_t large_body_bytes = 3000;
  std::uint64_t one_large_in = 40;
  std::size_t bulk_jobs_max = 4;  ///< that are pushed at a time
  std::uint64_t one_scheduled_in = 5;
  std::size_t error_bytes_max = 300;  ///< that a FAIL says
  std::uint64_t pipeline_max = 12;    ///< commands that are said at a time
  std::uint64_t segment_bytes = 0;    ///< 0: as the world draws it
  bool is_siege = false;
  bool has_features = false;  ///< jobs are unique, expire, are tracked, and belong to batches
};

/// Draws what clients say. It looks at the model, so that most commands have something to work on:
/// a client deletes what it holds, and once in a while what it does not.
class Workload {
 public:
  using Sizes = WorkloadSizes;

  /// So many jobs that the core's table of them grows by chunks, and shrinks again. No queue has
  /// more than one slice of a long operation takes (core/types.hpp), and nobody says FLUSH, which
  /// walks them all: the model knows no slices.
  static constexpr Sizes kCrowded = {.jobs_max = 560,
                                     .jobs_kept = 50,
                                     .body_bytes_max = 10,
                                     .large_body_bytes = 100,
                                     .bulk_jobs_max = 60,
                                     .one_scheduled_in = 40,
                                     .pipeline_max = 60};

  /// A disk that is full for long, with segments as short as the program takes them, and jobs that
  /// fail with much to say, so that what is done to all of them at once takes more of the log than
  /// is kept back. No more jobs than one slice takes, since FLUSH walks them all.
  static constexpr Sizes kSiege = {.jobs_max = 450,
                                   .jobs_kept = 400,
                                   .body_bytes_max = 2000,
                                   .large_body_bytes = 50'000,
                                   .one_large_in = 200,
                                   .bulk_jobs_max = 20,
                                   .error_bytes_max = 40'000,
                                   .pipeline_max = 6,
                                   .segment_bytes = std::uint64_t{1} << 20,
                                   .is_siege = true};

  static constexpr Sizes kFeatures = {.has_features = true};

  [[nodiscard]] bool is_crowded() const { return sizes_.jobs_max > kSliceJobs; }
  [[nodiscard]] const Sizes& sizes() const { return sizes_; }

  Workload(Random& random, Sizes sizes)
      : random_(random), moves_(Random(random).draw()), sizes_(sizes) {}

  /// Whether jobs go to other queues: not in a crowd, whose queues have their size, nor in a siege.
  [[nodiscard]] bool moves_jobs() const { return !is_crowded() && !sizes_.is_siege; }
  /// Jobs of the limited type stay in their queue.
  [[nodiscard]] static bool may_move(const ModelJob& job) { return job.type != kLimitedJobtype; }

  /// Whether the reply may come later, so that nothing is sent after it.
  [[nodiscard]] static bool may_wait(const Command& command);

  [[nodiscard]] Command draw_beanstalk(const Model& model, ClientNumber client);
  [[nodiscard]] Command draw_worker(const Model& model, const std::string& wid, Time now);

 private:
  bool is_ending_jobs(const Model& model);
  Verb draw_beanstalk_verb(const Model& model);
  Verb draw_worker_verb(const Model& model);
  JobId draw_id(const Model& model, ClientNumber client);
  std::string draw_held_jid(const Model& model, const std::string& wid);
  std::string draw_body(const std::string& start);
  std::size_t draw_size();
  JobText draw_job(const Model& model, Time now);
  /// One that was pushed before, and that may live; nullopt: there is none.
  std::optional<JobText> draw_repeated(const Model& model, const std::string& wid, Time now);
  void remember(const JobText& job);
  Command draw_mutate(const Model& model);
  void draw_move(const Model& model, Command& command);

  // Of features (workload_features.cpp).
  JobWishes draw_wishes(const Model& model, Time now);
  void draw_track(const Model& model, Command& command, Time now);
  int draw_batch(const Model& model);
  void draw_new_batch(const Model& model, Command& command);
  void draw_use_of_batch(const Model& model, Command& command);

  Random& random_;
  Random moves_;  ///< of its own: moves were added later, and leave all else as it was
  const Sizes sizes_;
  std::uint64_t named_ = 0;  ///< names given so far
  bool is_ending_jobs_ = false;
  std::deque<JobText> pushed_;  ///< lately
};

}  // namespace millrace::simulation
