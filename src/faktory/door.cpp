#include "faktory/door.hpp"

#include <utility>

#include "faktory/job/pushed_job.hpp"
#include "faktory/session/info.hpp"
#include "faktory/session/reply.hpp"
#include "faktory/session/session.hpp"

namespace millrace::faktory {

Door::Door(Broker& broker, const WorkUnitFormat& format, Settings settings, Time started_at)
    : state_{.broker = broker,
             .format = format,
             .settings = std::move(settings),
             .started_at = started_at} {}

std::unique_ptr<Session> Door::open(std::string peer) {
  return std::make_unique<FwpSession>(state_, std::move(peer));
}

Outcome<JobId> Door::push(std::string_view json, Time now) {
  if (state_.is_draining) return Problem{std::string(kShutdown)};
  const Outcome<JobMembers> members = state_.reader.read(json);
  if (!members) {
    return Problem{fault_text(JobFault{JobFault::Kind::kInvalidJson, members.error().text})};
  }
  std::string body;
  const Result<NewJob, JobFault> job = make_pushed_job(*members, now, body);
  if (!job) return Problem{fault_text(job.error())};
  const Answer<JobId> id = state_.broker.put(*job, now);
  state_.reader.shrink();
  if (!id && id.error() == Refusal::kNoRoom) {
    return Problem{.text = fault_text(JobFault{JobFault::Kind::kNoRoom, {}}),
                   .is_out_of_space = true};
  }
  if (!id) return Problem{fault_text(JobFault{JobFault::Kind::kQueueNameTooLong, {}})};
  return *id;
}

std::function<std::string()> Door::info(Time now, QueueSizes sizes) const {
  return prepare_info(state_, now, std::move(sizes));
}

}  // namespace millrace::faktory
