
#include <set>

#include "http/handlers.hpp"
#include "http/input.hpp"
#include "http/text.hpp"

/// Changing jobs that are named one by one, and making new ones.
namespace millrace::http {
namespace {

constexpr std::string_view kHeld =
    "this job is in the hands of a worker or a connection: say that it is to be taken from them, "
    "or wait until they are through";

/// The member `held`: jobs that somebody holds are meant too.
Outcome<bool> read_held(const Json& object) {
  const auto found = object.find("held");
  if (found == object.end()) return false;
  if (!found->is_boolean()) return Problem{"held is not true or false"};
  return found->get<bool>();
}

bool is_held(const Broker& broker, JobId id) {
  const Job* job = broker.view().find(id);
  return job != nullptr && job->state == JobState::kReserved;
}

Response change_one(const Call& call, Mutation::Action action) {
  Broker& broker = call.site.broker;
  const Outcome<Json> object = read_object(call.request);
  if (!object) return refuse(400, object.error().text);
  const Outcome<bool> takes_held = read_held(*object);
  if (!takes_held) return refuse(400, takes_held.error().text);
  const JobId id = parse_number<JobId>(call.name).value_or(0);
  const Job* job = broker.view().find(id);
  if (job == nullptr) return say_gone(call);
  const JobState before = job->state;
  const bool was_held = before == JobState::kReserved;
  if (was_held && !*takes_held) return refuse(409, kHeld);
  const Answer<Done> done = was_held ? broker.take_back(id, action, call.moment.now)
                                     : broker.change(id, action, call.moment.now);
  if (!done && done.error() == Refusal::kNoRoom) return refuse_for_room();
  if (!done) return refuse(409, concat("this job is ", name_of(before), " already"));
  const Job* left = broker.view().find(id);
  return {.body = dump({{"id", id}, {"state", left ? Json(name_of(left->state)) : Json(nullptr)}}),
          .is_change = true};
}

Outcome<std::vector<JobId>> read_ids(const Json& object) {
  const auto found = object.find("ids");
  if (found == object.end() || !found->is_array()) return Problem{"ids is not an array"};
  if (found->size() > kNamedJobsMax) {
    return Problem{concat("ids has more than ", kNamedJobsMax, " entries")};
  }
  std::vector<JobId> ids;
  for (const Json& id : *found) {
    if (!id.is_number_unsigned()) return Problem{"ids has an entry that is no job's number"};
    ids.push_back(id.get<JobId>());
  }
  return ids;
}

/// The job with a jid of ours in front. As text, so that no number in it is changed.
std::string with_jid(std::string_view json, std::string_view jid, bool has_members) {
  const std::size_t inside = json.find('{') + 1;
  return concat(json.substr(0, inside), "\"jid\":\"", jid, "\"", has_members ? "," : "",
                json.substr(inside));
}

}  // namespace

Response retry_job(const Call& call) {
  return change_one(call, Mutation::Action::kRequeue);
}

Response kill_job(const Call& call) {
  return change_one(call, Mutation::Action::kKill);
}

Response delete_job(const Call& call) {
  return change_one(call, Mutation::Action::kDiscard);
}

Response change_jobs(const Call& call) {
  const Outcome<Json> object = read_object(call.request);
  if (!object) return refuse(400, object.error().text);
  const auto action = parse_action(read_text(*object, "action"));
  if (!action) return refuse(400, "action is not retry, kill or delete");
  const Outcome<std::vector<JobId>> ids = read_ids(*object);
  if (!ids) return refuse(400, ids.error().text);
  const Outcome<bool> takes_held = read_held(*object);
  if (!takes_held) return refuse(400, takes_held.error().text);
  Broker& broker = call.site.broker;
  std::uint64_t changed = 0;
  std::uint64_t gone = 0;
  for (const JobId id : *ids) {
    const bool is_gone = broker.view().find(id) == nullptr;
    gone += is_gone ? 1 : 0;
    const auto done = *takes_held && is_held(broker, id)
                          ? broker.take_back(id, *action, call.moment.now)
                          : broker.change(id, *action, call.moment.now);
    changed += !is_gone && done ? 1 : 0;
  }
  return {.body = dump(
              {{"changed", changed}, {"gone", gone}, {"refused", ids->size() - changed - gone}}),
          .is_change = true};
}

Response push_job(const Call& call) {
  std::string json = call.request.body;
  const std::vector<std::string> names = member_names(json);
  const std::set<std::string> differing(names.begin(), names.end());
  if (differing.size() < names.size()) return refuse(400, kDoubled);
  if (trimmed(json).starts_with('{') && !differing.contains("jid")) {
    json = with_jid(json, "web-" + hex(call.site.random()), !names.empty());
  }
  const Outcome<JobId> id = call.site.push(json, call.moment.now);
  if (!id) return refuse(id.error().is_out_of_space ? 503 : 400, id.error().text);
  // A worker that waited for it may have it already, but cannot have finished it.
  const Job* job = call.site.broker.view().find(*id);
  return {.status = 201,
          .body = dump({{"id", *id},
                        {"jid", call.site.format.identify(*job).jid},
                        {"state", name_of(job->state)}}),
          .is_change = true};
}

}  // namespace millrace::http
