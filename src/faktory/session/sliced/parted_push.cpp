#include "faktory/session/sliced/parted_push.hpp"

#include "faktory/session/reply.hpp"

namespace millrace::faktory {
namespace {

Problem invalid_json(const Problem& problem) {
  return problem_of({RefusedJob::Reason::kInvalidJson, problem.text});
}

}  // namespace

Problem problem_of(const RefusedJob& refused) {
  return {.text = reply::refusal(refused),
          .is_out_of_space = refused.reason == RefusedJob::Reason::kNoRoom};
}

Outcome<Done> PartedPush::add(std::string_view json) {
  const Outcome<Done> added = job_.add(json);
  if (!added) return invalid_json(added.error());
  return Done{};
}

Outcome<Done> PartedPush::make(Time now) {
  const Outcome<JobMembers> members = shared_.pusher.read(job_);
  if (!members) return invalid_json(members.error());
  const Result<Done, RefusedJob> made =
      job_.make(*members, now, shared_.broker.view().wall_clock(), shared_.pusher.secret());
  shared_.pusher.shrink();
  if (!made) return problem_of(made.error());
  return Done{};
}

void PartedPush::copy() {
  while (!job_.copy_some()) continue;
}

Outcome<JobId> PartedPush::put(Time now) {
  if (shared_.is_draining) return Problem{std::string(reply::kShutdown)};
  const Result<JobId, RefusedJob> id = shared_.pusher.put(job_.job(), now);
  if (!id) return problem_of(id.error());
  return *id;
}

}  // namespace millrace::faktory
