#pragma once

#include <optional>
#include <string>

#include "simulation/command.hpp"
#include "simulation/model.hpp"
#include "simulation/random.hpp"

namespace millrace::simulation {

/// Draws what clients say. It looks at the model, so that most commands have something to work on:
/// a client deletes what it holds, and once in a while what it does not.
class Workload {
 public:
  struct Sizes {
    std::size_t jobs_max = 40;         ///< with so many, clients finish rather than put,
    std::size_t jobs_kept = 39;        ///< until so many are left
    std::size_t body_bytes_max = 200;  ///< most bodies are shorter
    std::size_t large_body_bytes = 3000;
    std::size_t bulk_jobs_max = 4;  ///< that are pushed at a time
    std::uint64_t one_scheduled_in = 5;
  };

  /// So many jobs that the core's table of them grows by chunks, and shrinks again. No queue has
  /// more than one slice of a long operation takes (core/types.hpp), and nobody says FLUSH, which
  /// walks them all: the model knows no slices.
  static constexpr Sizes kCrowded = {.jobs_max = 560,
                                     .jobs_kept = 50,
                                     .body_bytes_max = 10,
                                     .large_body_bytes = 100,
                                     .bulk_jobs_max = 60,
                                     .one_scheduled_in = 40};

  [[nodiscard]] bool is_crowded() const { return sizes_.jobs_max > kSliceJobs; }

  Workload(Random& random, Sizes sizes) : random_(random), sizes_(sizes) {}

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
  Command draw_mutate(const Model& model);

  Random& random_;
  const Sizes sizes_;
  std::uint64_t named_ = 0;  ///< names given so far
  bool is_ending_jobs_ = false;
};

}  // namespace millrace::simulation
