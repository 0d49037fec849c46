#include "cli/members.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {
namespace {

/// Each queue that was named; what cannot be changed is told of.
Exit turn(Session& session, const char* action, const char* done, const Json& body) {
  Json documents = Json::array();
  Exit exit = Exit::kDone;
  for (const std::string& name : session.choice.words) {
    if (name.empty()) return session.refuse_usage("QUEUE must not be empty");
    const Reply<Answer> answer =
        session.api.post("queues/" + path_part(name) + "/" + action, body.dump());
    if (!answer) {
      exit = session.fail({.exit = answer.error().exit, .text = name + ": " + answer.error().text});
      if (exit == Exit::kUnreachable || answer.error().status == 401) break;
      continue;
    }
    documents.push_back(answer->json);
    if (!session.choice.is_json) session.console.print_member(done, name);
  }
  if (!session.choice.is_json || documents.empty()) return exit;
  session.print(session.choice.words.size() == 1 ? documents.front() : documents);
  return exit;
}

}  // namespace

Exit pause_queues(Session& session) {
  Json body = Json::object();
  if (session.choice.pause_s) body["seconds"] = *session.choice.pause_s;
  return turn(session, "pause", "paused", body);
}

Exit resume_queues(Session& session) {
  return turn(session, "resume", "resumed", Json::object());
}

}  // namespace millrace::cli
