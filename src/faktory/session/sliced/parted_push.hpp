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

  [[nodiscard]] Result<Done, PushRefusal> add(std::string_view json) override;
  [[nodiscard]] Result<Done, PushRefusal> make(Time now) override;
  [[nodiscard]] Result<Done, PushRefusal> check(Time now) override;
  void copy() override;
  [[nodiscard]] Result<JobId, PushRefusal> put(Time now) override;

 private:
  [[nodiscard]] Result<Done, PushRefusal> make(const JobMembers& members, Time now);

  Shared& shared_;
  LongJob job_{Compactor::Root::kJob};
};

/// What somebody without a session is told of a refused job.
[[nodiscard]] PushRefusal push_refusal(const RefusedJob& refused);

/// The same while the server stops.
[[nodiscard]] PushRefusal push_refused_by_stop();

}  // namespace millrace::faktory
