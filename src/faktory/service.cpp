#include "faktory/service.hpp"

#include <utility>

#include "faktory/job/pushed_job.hpp"
#include "faktory/session/info.hpp"
#include "faktory/session/reply.hpp"
#include "faktory/session/session.hpp"

namespace millrace::faktory {

Service::Service(Broker& broker, const WorkUnitFormat& format, Settings settings, Time started_at)
    : shared_{.broker = broker,
              .format = format,
              .settings = std::move(settings),
              .started_at = started_at} {}

std::unique_ptr<Session> Service::open(std::string peer) {
  return std::make_unique<ClientSession>(shared_, std::move(peer));
}

Outcome<JobId> Service::push(std::string_view json, Time now) {
  if (shared_.is_draining) return Problem{std::string(reply::kShutdown)};
  const Outcome<JobMembers> members = shared_.reader.read(json);
  if (!members) {
    return Problem{
        reply::refusal(RefusedJob{RefusedJob::Reason::kInvalidJson, members.error().text})};
  }
  std::string body;
  const Result<NewJob, RefusedJob> job = make_pushed_job(*members, now, body);
  if (!job) return Problem{reply::refusal(job.error())};
  const Answer<JobId> id = shared_.broker.put(*job, now);
  shared_.reader.shrink();
  if (!id && id.error() == Refusal::kNoRoom) {
    return Problem{.text = reply::refusal(RefusedJob{RefusedJob::Reason::kNoRoom, {}}),
                   .is_out_of_space = true};
  }
  if (!id) return Problem{reply::refusal(RefusedJob{RefusedJob::Reason::kQueueNameTooLong, {}})};
  return *id;
}

std::function<std::string()> Service::info(Time now, QueueSizes sizes) const {
  return prepare_info(shared_, now, std::move(sizes));
}

}  // namespace millrace::faktory
