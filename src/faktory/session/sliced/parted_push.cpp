#include "faktory/session/sliced/parted_push.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "faktory/json/checked_json.hpp"
#include "faktory/session/reply.hpp"

namespace millrace::faktory {
namespace {

PushRefusal invalid_json(const Problem& problem) {
  return push_refusal({RefusedJob::Reason::kInvalidJson, problem.text});
}

PushRefusal::Reason reason_of(const RefusedJob& refused) {
  if (refused.reason == RefusedJob::Reason::kNotUnique) return PushRefusal::Reason::kNotUnique;
  if (refused.reason == RefusedJob::Reason::kNoRoom) return PushRefusal::Reason::kNoRoom;
  return PushRefusal::Reason::kInvalid;
}

/// PUSH takes any other as a member that it does not know.
bool has_wrong_priority(const JobMembers& members) {
  return std::ranges::any_of(members.others, [](const auto& member) {
    return equals_ignoring_case(meaning_of(member.first), "priority") && member.second != "null";
  });
}

}  // namespace

PushRefusal push_refusal(const RefusedJob& refused) {
  return {.reason = reason_of(refused), .text = reply::refusal(refused)};
}

PushRefusal push_refused_by_stop() {
  return {.reason = PushRefusal::Reason::kStopping, .text = std::string(reply::kShutdown)};
}

Result<Done, PushRefusal> PartedPush::add(std::string_view json) {
  const Outcome<Done> added = job_.add(json);
  if (!added) return invalid_json(added.error());
  return Done{};
}

Result<Done, PushRefusal> PartedPush::make(Time now) {
  const Outcome<JobMembers> members = shared_.pusher.read(job_);
  return members ? make(*members, now) : invalid_json(members.error());
}

Result<Done, PushRefusal> PartedPush::check(Time now) {
  const Outcome<JobMembers> members = shared_.pusher.read(job_);
  if (!members) return invalid_json(members.error());
  if (has_wrong_priority(*members)) {
    return PushRefusal{PushRefusal::Reason::kInvalid,
                       "priority must be from 1 to 9; 9 comes first"};
  }
  return make(*members, now);
}

Result<Done, PushRefusal> PartedPush::make(const JobMembers& members, Time now) {
  const Result<Done, RefusedJob> made =
      job_.make(members, now, shared_.broker.view().wall_clock(), shared_.pusher.secret());
  shared_.pusher.shrink();
  if (!made) return push_refusal(made.error());
  return Done{};
}

void PartedPush::copy() {
  while (!job_.copy_some()) continue;
}

Result<JobId, PushRefusal> PartedPush::put(Time now) {
  if (shared_.is_draining) return push_refused_by_stop();
  const Result<JobId, RefusedJob> id = shared_.pusher.put(job_.job(), now);
  if (!id) return push_refusal(id.error());
  return *id;
}

}  // namespace millrace::faktory
