#include <memory>
#include <set>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"

/// Changing jobs that are named one by one, and making new ones.
namespace millrace::http {
namespace {

constexpr std::string_view kHeld =
    "a worker or a connection runs this job: name the state reserved to take it away, or wait for "
    "the end of the run";

/// The member `state`: the state in which a person saw the jobs. Jobs that have left it are not
/// meant. Without it, all are meant but the reserved ones.
Outcome<std::optional<JobState>> read_seen(const Json& members) {
  const auto found = members.find("state");
  if (found == members.end()) return std::optional<JobState>();
  const auto state = found->is_string() ? parse_state(found->get<std::string>()) : std::nullopt;
  if (!state) return Problem{"state is not a state of jobs"};
  return state;
}

bool is_meant(const Job& job, std::optional<JobState> seen) {
  return seen ? job.state == *seen : job.state != JobState::kReserved;
}

struct WantedChange {
  Mutation::Action action;
  std::string to = {};  ///< where jobs are moved
};

/// Where a pushed job is, Faktory workers must be able to fetch it.
bool can_go(const Site& site, const Job& job, const std::string& to) {
  return to.empty() || site.is_queue_name(to, job.kind);
}

Answer<Done> change(const Call& call, const Job& job, const WantedChange& wanted) {
  if (!can_go(call.site, job, wanted.to)) return Refusal::kNotFound;
  AdminOperations& admin = call.site.broker.admin();
  const Time now = call.moment.now;
  return job.state == JobState::kReserved ? admin.change_held(job.id, wanted.action, now)
                                          : admin.change(job.id, wanted.action, now, wanted.to);
}

Response change_one(const Call& call, Mutation::Action action) {
  Broker& broker = call.site.broker;
  const auto seen = read_seen(call.request.members);
  if (!seen) return refuse(400, seen.error().text);
  const JobId id = parse_number<JobId>(call.name).value_or(0);
  const Job* job = broker.view().jobs().find(id);
  if (job == nullptr) return say_gone(call);
  // Kept: the change may remove the job, or move it on to a waiting worker.
  const JobState before = job->state;
  const std::string queue = broker.view().queues().at(job->queue).name;
  if (action == Mutation::Action::kMove && before == JobState::kReserved) {
    return refuse(409, "a running job is not moved: wait for the end of the run");
  }
  if (!is_meant(*job, *seen)) {
    return refuse(409, *seen ? concat("this job is ", name_of(before), " now") : kHeld);
  }
  const Outcome<std::string> to = read_to(call.request.members, action, call.site);
  if (!to) return refuse(400, to.error().text);
  if (!can_go(call.site, *job, *to)) {
    return refuse(400, concat("Faktory clients cannot name the queue ", *to,
                              ", and this job was pushed by one"));
  }
  const Answer<Done> done = change(call, *job, {.action = action, .to = *to});
  if (!done && done.error() == Refusal::kNoRoom) return refuse_for_room();
  if (!done && done.error() == Refusal::kExpired) {
    return refuse(409, "this job has expired: it would be removed at once");
  }
  if (!done && done.error() == Refusal::kUnreadable) {
    return refuse(409, "the body of this job cannot be read from the journal");
  }
  if (!done && done.error() == Refusal::kNotUnique) {
    return refuse(409, "NOTUNIQUE Job not unique: another job holds its lock", "not_unique");
  }
  if (!done && !to->empty()) return refuse(409, concat("this job is in ", *to, " already"));
  if (!done) return refuse(409, concat("this job is ", name_of(before), " already"));
  // Asked for again: `job` is no longer valid when it was deleted.
  const Job* left = broker.view().jobs().find(id);
  const std::string_view after = left ? name_of(left->state) : "deleted";
  return {
      .body = dump({{"id", id}, {"state", left ? Json(after) : Json(nullptr)}}),
      .is_change = true,
      .changed = to->empty() ? concat(name_of(before), " → ", after) : concat(queue, " → ", *to)};
}

Outcome<std::vector<JobId>> read_ids(const Json& members) {
  const auto found = members.find("ids");
  if (found == members.end() || !found->is_array()) return Problem{"ids is not an array"};
  if (found->size() > kNamedJobsMax) {
    return Problem{concat("ids has more than ", kNamedJobsMax, " entries")};
  }
  std::vector<JobId> ids;
  for (const Json& id : *found) {
    if (!id.is_number_unsigned()) return Problem{"ids has an entry that is not a job number"};
    ids.push_back(id.get<JobId>());
  }
  return ids;
}

/// Of a job: null where there is none.
bool is_seen(const Queue* queue, const access::Caller& caller) {
  return queue != nullptr && caller.may(access::Right::kView, queue->name);
}

/// "1, 2, 3 and 7 more"
std::string list_of(const std::vector<JobId>& ids) {
  constexpr std::size_t kShownMax = 10;
  std::string list;
  for (std::size_t i = 0; i < std::min(ids.size(), kShownMax); ++i) {
    list += concat(i == 0 ? "" : ", ", ids[i]);
  }
  return ids.size() > kShownMax ? concat(list, " and ", ids.size() - kShownMax, " more") : list;
}

/// The job with our jid as its first member. The rest of the text stays as it is.
std::string with_jid(std::string_view json, std::string_view jid, bool has_members) {
  const std::size_t inside = json.find('{') + 1;
  return concat(json.substr(0, inside), "\"jid\":\"", jid, "\"", has_members ? "," : "",
                json.substr(inside));
}

std::optional<Problem> begin_long_push(const Site& site, Request& request) {
  request.long_push = site.push_in_parts(request.caller);
  const Result<Done, PushRefusal> read = request.long_push->read(request.body);
  // It is in the other form now.
  request.body = std::string();
  return read ? std::nullopt : std::optional(Problem{read.error().text});
}

/// `request` is what was pushed; empty: it is in the other form.
Response say_pushed(const Site& site, const Result<JobId, PushRefusal>& id,
                    std::string_view request) {
  if (!id) return refuse_push(id.error());
  Json pushed{{"id", *id}, {"state", nullptr}};
  std::string type;
  // A worker that waited for it may hold it by now. It has ended only if the push is one that was
  // sent again, and is remembered.
  if (const Job* const job = site.broker.view().jobs().find(*id)) {
    pushed["jid"] = site.format.identify(*job).jid;
    pushed["state"] = name_of(job->state);
    type = concat(site.format.summarize(*job).type, " in ",
                  site.broker.view().queues().at(job->queue).name);
  } else {
    pushed["jid"] = read_text(Json::parse(request, nullptr, false), "jid");
  }
  return {.status = 201, .body = dump(pushed), .is_change = true, .changed = std::move(type)};
}

Response make_long_push(const Call& call) {
  // Shared: functions that can be copied have it.
  const std::shared_ptr<PushInParts> push = call.request.long_push;
  push->begin(call.moment.now);
  return {
      .go_on = [&site = call.site, push](Time now) { return say_pushed(site, push->put(now), ""); },
      .meanwhile = [push] { push->make(); }};
}

}  // namespace

Outcome<std::string> read_to(const Json& members, Mutation::Action action, const Site& site) {
  const std::string to = read_text(members, "to");
  if (action != Mutation::Action::kMove) {
    return members.contains("to")
               ? Outcome<std::string>(Problem{"\"to\" is only allowed with a move"})
               : to;
  }
  if (to.empty()) return Problem{"\"to\" is required for a move: the name of the target queue"};
  const bool is_name =
      is_utf8(to) && to.size() <= kQueueNameBytesMax && site.is_queue_name(to, JobKind::kBytes);
  return is_name ? Outcome<std::string>(to) : Problem{"\"to\" is not a valid queue name"};
}

Response refuse_push(const PushRefusal& refused) {
  switch (refused.reason) {
    case PushRefusal::Reason::kInvalid:
      return refuse(400, refused.text);
    case PushRefusal::Reason::kNotUnique:
      return refuse(409, refused.text, "not_unique");
    case PushRefusal::Reason::kNotAllowed:
      return refuse(403, refused.text, kNotAllowed);
    case PushRefusal::Reason::kNoRoom:
    case PushRefusal::Reason::kStopping:
      break;
  }
  return refuse(503, refused.text);
}

Response retry_job(const Call& call) {
  return change_one(call, Mutation::Action::kRequeue);
}

Response kill_job(const Call& call) {
  return change_one(call, Mutation::Action::kKill);
}

Response move_job(const Call& call) {
  return change_one(call, Mutation::Action::kMove);
}

Response delete_job(const Call& call) {
  return change_one(call, Mutation::Action::kDiscard);
}

Response change_jobs(const Call& call, const Scope& scope) {
  const Json& members = call.request.members;
  const auto action = parse_action(read_text(members, "action"));
  if (!action) return refuse(400, "action is not retry, kill, move or delete");
  const Outcome<std::vector<JobId>> ids = read_ids(members);
  if (!ids) return refuse(400, ids.error().text);
  const auto seen = read_seen(members);
  if (!seen) return refuse(400, seen.error().text);
  const Outcome<std::string> to = read_to(members, *action, call.site);
  if (!to) return refuse(400, to.error().text);
  const WantedChange wanted{.action = *action, .to = *to};
  std::uint64_t changed = 0;
  std::uint64_t gone = 0;
  for (const JobId id : *ids) {
    const View& view = call.site.broker.view();
    const Job* job = view.jobs().find(id);
    const Queue* const queue = job == nullptr ? nullptr : &view.queues().at(job->queue);
    const bool is_in_scope = queue != nullptr && scope.has(queue->name);
    if (!is_in_scope && !is_seen(queue, call.request.caller)) {
      ++gone;
    } else if (is_in_scope && is_meant(*job, *seen) && change(call, *job, wanted)) {
      ++changed;
    }
  }
  return {.body = dump(
              {{"changed", changed}, {"gone", gone}, {"refused", ids->size() - changed - gone}}),
          .is_change = true,
          .changed = concat(read_text(members, "action"), " ", list_of(*ids),
                            to->empty() ? "" : " → ", *to)};
}

namespace {

std::optional<Problem> complete(const Site& site, Request& request) {
  // A job with other bytes would be stored with U+FFFD in their place, as for PUSH.
  if (!is_utf8(request.body)) return Problem{"the job is not valid UTF-8"};
  const std::vector<std::string> names = member_names(request.body);
  const std::set<std::string> differing(names.begin(), names.end());
  // The two readers of the text may take different ones, and then a person would not get what was
  // checked.
  if (differing.size() < names.size()) return Problem{std::string(kDoubled)};
  if (trimmed(request.body).starts_with('{') && !differing.contains("jid")) {
    request.body = with_jid(request.body, "web-" + hex(site.random()), !names.empty());
  }
  return std::nullopt;
}

}  // namespace

std::optional<Problem> prepare_push(const Site& site, Request& request) {
  if (auto problem = complete(site, request)) return problem;
  return request.body.size() > kLongPushBytes ? begin_long_push(site, request) : std::nullopt;
}

std::optional<Problem> prepare_check(const Site& site, Request& request) {
  if (auto problem = complete(site, request)) return problem;
  return begin_long_push(site, request);
}

Response check_job(const Call& call, const Scope& /* a check is of no queue */) {
  // Shared: functions that can be copied have it.
  const std::shared_ptr<PushInParts> push = call.request.long_push;
  push->begin(call.moment.now);
  return {
      .go_on =
          [push](Time) {
            const auto made = push->check();
            return made ? Response{.body = dump({{"is_valid", true}})} : refuse_push(made.error());
          },
      .meanwhile = [push] { push->make(); }};
}

Response push_job(const Call& call, const Scope& /* the pusher looks */) {
  if (call.request.long_push) return make_long_push(call);
  const std::string& body = call.request.body;
  return say_pushed(call.site, call.site.push(body, call.moment.now, call.request.caller), body);
}

}  // namespace millrace::http
