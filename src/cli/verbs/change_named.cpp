#include "cli/verbs/change_named.hpp"

#include <algorithm>

#include "cli/members.hpp"
#include "cli/named_job.hpp"

namespace millrace::cli {
namespace {

Reply<Answer> change_one(Session& session, const ChangeWords& words, const std::string& name) {
  const Reply<NamedJob> found = find_job(session, name);
  if (!found) return found.error();
  const Json& job = found->answer.json;
  if (found->kind == NamedJob::Kind::kSeveral) {
    return Failure{.text = "several jobs have this jid; name one by its number, see peek"};
  }
  if (found->kind == NamedJob::Kind::kFinished) {
    return Failure{.text = "it has ended: " + text_at(job, "outcome")};
  }
  Json body = Json::object();
  if (!session.choice.states.empty()) body["state"] = session.choice.states.front();
  if (!session.choice.to.empty()) body["to"] = session.choice.to;
  const std::string target = "jobs/" + text_at(job, "id") + "/" + words.action;
  return session.api.post(target, body.dump(), found->answer.instance);
}

}  // namespace

Exit change_named(Session& session, const ChangeWords& words) {
  // Before any is changed.
  if (std::ranges::find(session.choice.words, "") != session.choice.words.end()) {
    return session.refuse_usage("an ID must not be empty");
  }
  Json changed = Json::array();
  Json refused = Json::array();
  Exit exit = Exit::kDone;
  for (const std::string& name : session.choice.words) {
    const Reply<Answer> answer = change_one(session, words, name);
    if (answer) {
      changed.push_back(answer->json);
      continue;
    }
    // That there is none names it already.
    const std::string whose = answer.error().status == kNotFound ? "" : name + ": ";
    exit = session.fail({.exit = answer.error().exit, .text = whose + answer.error().text});
    refused.push_back({{"id", name}, {"error", answer.error().text}});
    // The others would fail alike.
    if (exit == Exit::kUnreachable || answer.error().status == 401) break;
  }
  if (session.choice.is_json) {
    session.print({{"changed", std::move(changed)}, {"refused", std::move(refused)}});
    return exit;
  }
  for (const Json& job : changed) {
    session.console.print("job " + text_at(job, "id") + " " + words.done + "\n");
  }
  return exit;
}

}  // namespace millrace::cli
