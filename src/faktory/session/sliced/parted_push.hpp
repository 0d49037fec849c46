#pragma once

#include <string_view>

#include "core/ports/push_in_parts.hpp"
#include "faktory/job/long_job.hpp"
#include "faktory/shared.hpp"

namespace millrace::faktory {

/// A long job from a caller that has no session. `shared` outlives it.
class PartedPush final : public PushInParts {
 public:
  explicit PartedPush(Shared& shared) : shared_(shared) {}

  [[nodiscard]] Outcome<Done> add(std::string_view json) override;
  [[nodiscard]] Outcome<Done> make(Time now) override;
  void copy() override;
  [[nodiscard]] Outcome<JobId> put(Time now) override;

 private:
  Shared& shared_;
  LongJob job_{Compactor::Root::kJob};
};

/// The refusal of a job in the words of PUSH.
[[nodiscard]] Problem problem_of(const RefusedJob& refused);

}  // namespace millrace::faktory
