#include "faktory/service.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/json/checked_json.hpp"
#include "faktory/session/info.hpp"
#include "faktory/session/reply.hpp"
#include "faktory/session/session.hpp"

namespace millrace::faktory {
namespace {

PushRefusal::Reason reason_of(const RefusedJob& refused) {
  if (refused.reason == RefusedJob::Reason::kNotUnique) return PushRefusal::Reason::kNotUnique;
  if (refused.reason == RefusedJob::Reason::kNoRoom) return PushRefusal::Reason::kNoRoom;
  if (refused.reason == RefusedJob::Reason::kNotAllowed) return PushRefusal::Reason::kNotAllowed;
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

/// PUSH takes any other as a member that it does not know.
bool has_wrong_priority(const JobMembers& members) {
  return std::ranges::any_of(members.others, [](const auto& member) {
    return equals_ignoring_case(meaning_of(member.first), "priority") && member.second != "null";
  });
}

/// A long job from a caller that has no session. `shared` outlives it.
class PartedPush final : public PushInParts {
 public:
  PartedPush(Shared& shared, access::Caller caller) : shared_(shared), caller_(std::move(caller)) {}

  [[nodiscard]] Result<Done, PushRefusal> read(std::string_view json) override {
    Outcome<JobMembers> members = reader_.read(json);
    if (!members) {
      return push_refusal({RefusedJob::Reason::kInvalidJson, members.error().text});
    }
    members_ = std::move(*members);
    return Done{};
  }

  void begin(Time now) override { terms_ = shared_.pusher.terms(now); }

  void make() override {
    made_ = MadeJob::make(members_, terms_);
    has_wrong_priority_ = has_wrong_priority(members_);
    members_ = {};
    reader_ = JobReader();
    if (*made_) (*made_)->prepare();
  }

  [[nodiscard]] Result<Done, PushRefusal> check() const override {
    if (has_wrong_priority_) {
      return PushRefusal{PushRefusal::Reason::kInvalid,
                         "priority must be from 1 to 9; 9 comes first"};
    }
    if (!*made_) return push_refusal(made_->error());
    return Done{};
  }

  [[nodiscard]] Result<JobId, PushRefusal> put(Time now) override {
    if (!*made_) return push_refusal(made_->error());
    if (shared_.is_draining) return push_refused_by_stop();
    const Result<JobId, RefusedJob> id = shared_.pusher.put((*made_)->job(), now, caller_);
    if (!id) return push_refusal(id.error());
    return *id;
  }

 private:
  Shared& shared_;
  access::Caller caller_;
  JobReader reader_;
  JobMembers members_;
  PushTerms terms_;
  std::optional<Result<MadeJob, RefusedJob>> made_;
  bool has_wrong_priority_ = false;
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

void Service::set_users(access::SharedUsers users) {
  shared_.settings.users = std::move(users);
  const auto connected = shared_.of_users;
  for (FaktorySession* const session : connected) session->look_at_users();
}

Result<JobId, PushRefusal> Service::push(std::string_view json, Time now,
                                         const access::Caller& caller,
                                         std::optional<Time> planned) {
  if (shared_.is_draining) return push_refused_by_stop();
  const Result<JobId, RefusedJob> id = shared_.pusher.push(json, now, caller, planned);
  if (id) return *id;
  return push_refusal(id.error());
}

std::unique_ptr<PushInParts> Service::push_in_parts(access::Caller caller) {
  return std::make_unique<PartedPush>(shared_, std::move(caller));
}

std::function<std::string()> Service::info(Time now, QueueSizes sizes) const {
  return prepare_info(shared_, now, std::move(sizes));
}

}  // namespace millrace::faktory
