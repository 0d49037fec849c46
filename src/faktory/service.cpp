#include "faktory/service.hpp"

#include <utility>

#include "faktory/session/info.hpp"
#include "faktory/session/reply.hpp"
#include "faktory/session/session.hpp"
#include "faktory/session/sliced/parted_push.hpp"

namespace millrace::faktory {

Service::Service(Broker& broker, const WorkUnitFormat& format, Settings settings, Time started_at)
    : shared_{.broker = broker,
              .format = format,
              .settings = std::move(settings),
              .started_at = started_at} {}

std::unique_ptr<Session> Service::open(std::string peer) {
  return std::make_unique<ClientSession>(shared_, std::move(peer));
}

Result<JobId, PushRefusal> Service::push(std::string_view json, Time now,
                                         std::optional<Time> planned) {
  if (shared_.is_draining) return push_refused_by_stop();
  const Result<JobId, RefusedJob> id = shared_.pusher.push(json, now, planned);
  if (id) return *id;
  return push_refusal(id.error());
}

std::unique_ptr<PushInParts> Service::push_in_parts() {
  return std::make_unique<PartedPush>(shared_);
}

std::function<std::string()> Service::info(Time now, QueueSizes sizes) const {
  return prepare_info(shared_, now, std::move(sizes));
}

}  // namespace millrace::faktory
