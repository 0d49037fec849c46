#include "faktory/service.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "faktory/job/long_job.hpp"
#include "faktory/json/checked_json.hpp"
#include "faktory/session/info.hpp"
#include "faktory/session/reply.hpp"
#include "faktory/session/session.hpp"

namespace millrace::faktory {
namespace {

PushRefusal::Reason reason_of(const RefusedJob& refused) {
  if (refused.reason == RefusedJob::Reason::kNotUnique) return PushRefusal::Reason::kNotUnique;
  if (refused.reason == RefusedJob::Reason::kNoRoom) return PushRefusal::Reason::kNoRoom;
  return PushRefusal::Reason::kInvalid;
}

/// What somebody without a session is told of a refused job.
PushRefusal push_refusal(const RefusedJob& refused) {
  return {.reason = reason_of(refused), .text = reply::refusal(refused)};
}

/// The same while the server stops.
PushRefusal push_refused_by_stop() {
  return {.reason = PushRefusal::Reason::kStopping, .text = std::string(reply::kShutdown)};
}

PushRefusal invalid_json(const Problem& problem) {
  return push_refusal({RefusedJob::Reason::kInvalidJson, problem.text});
}

/// PUSH takes any other as a member that it does not know.
bool has_wrong_priority(const JobMembers& members) {
  return std::ranges::any_of(members.others, [](const auto& member) {
    return equals_ignoring_case(meaning_of(member.first), "priority") && member.second != "null";
  });
}

/// A long job from a caller that has no session. `shared` outlives it.
class PartedPush final : public PushInParts {
 public:
  explicit PartedPush(Shared& shared) : shared_(shared) {}

  [[nodiscard]] Result<Done, PushRefusal> add(std::string_view json) override {
    const Outcome<Done> added = job_.add(json);
    if (!added) return invalid_json(added.error());
    return Done{};
  }

  [[nodiscard]] Result<Done, PushRefusal> make(Time now) override {
    const Outcome<JobMembers> members = shared_.pusher.read(job_);
    return members ? make(*members, now) : invalid_json(members.error());
  }

  [[nodiscard]] Result<Done, PushRefusal> check(Time now) override {
    const Outcome<JobMembers> members = shared_.pusher.read(job_);
    if (!members) return invalid_json(members.error());
    if (has_wrong_priority(*members)) {
      return PushRefusal{PushRefusal::Reason::kInvalid,
                         "priority must be from 1 to 9; 9 comes first"};
    }
    return make(*members, now);
  }

  void copy() override {
    while (!job_.copy_some()) continue;
  }

  [[nodiscard]] Result<JobId, PushRefusal> put(Time now) override {
    if (shared_.is_draining) return push_refused_by_stop();
    const Result<JobId, RefusedJob> id = shared_.pusher.put(job_.job(), now);
    if (!id) return push_refusal(id.error());
    return *id;
  }

 private:
  [[nodiscard]] Result<Done, PushRefusal> make(const JobMembers& members, Time now) {
    const Result<Done, RefusedJob> made =
        job_.make(members, now, shared_.broker.view().wall_clock(), shared_.pusher.secret());
    shared_.pusher.shrink();
    if (!made) return push_refusal(made.error());
    return Done{};
  }

  Shared& shared_;
  LongJob job_{Minifier::Root::kJob};
};

}  // namespace

Service::Service(Broker& broker, const WorkUnitFormat& format, Settings settings, Time started_at)
    : shared_{.broker = broker,
              .format = format,
              .settings = std::move(settings),
              .started_at = started_at} {}

std::unique_ptr<Session> Service::open(std::string peer) {
  return std::make_unique<FaktorySession>(shared_, std::move(peer));
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
