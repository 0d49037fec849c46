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
    std::size_t jobs_max = 40;         ///< with more, clients finish rather than put
    std::size_t body_bytes_max = 200;  ///< most bodies are shorter
    std::size_t large_body_bytes = 3000;
  };

  Workload(Random& random, Sizes sizes) : random_(random), sizes_(sizes) {}

  [[nodiscard]] Command draw_beanstalk(const Model& model, ClientNumber client);
  [[nodiscard]] Command draw_worker(const Model& model, const std::string& wid, Time now);

 private:
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
};

}  // namespace millrace::simulation
