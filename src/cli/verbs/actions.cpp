#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cli/interrupts.hpp"
#include "cli/members.hpp"
#include "cli/value_hint.hpp"
#include "cli/verbs/verbs.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

/// `millrace VERB ACTION NAME` of the verbs that else list what has these names.
struct Action {
  std::string_view verb;
  std::string_view name;
  const char* doing;  ///< `deleting`
  const char* done;   ///< `deleted`
  bool is_dangerous = false;
};

constexpr std::array kActions = {Action{"queues", "clear", "deleting", "deleted", true},
                                 Action{"queues", "delete", "deleting", "deleted", true},
                                 Action{"workers", "quiet", "", "quieting"},
                                 Action{"workers", "stop", "", "stopping"},
                                 Action{"batches", "retry", "retrying", "made ready"},
                                 Action{"batches", "discard", "deleting", "deleted", true},
                                 Action{"batches", "accept", "", "accepted"},
                                 Action{"batches", "delete", "", "forgotten", true},
                                 Action{"locks", "free", "", "freed"}};

/// What the API is asked for, and with what.
struct Request {
  std::string target;
  Json body = Json::object();
};

Request request_of(const Choice& choice, const Action& action) {
  const std::string verb(action.verb);
  const std::string name = choice.words.size() > 1 ? choice.words[1] : "";
  if (verb != "workers") {
    return {.target = verb + "/" + path_part(name) + "/" + std::string(action.name)};
  }
  Request request{.target = verb + "/" + std::string(action.name)};
  if (choice.is_for_all) request.body["all"] = true;
  if (!choice.is_for_all) request.body["wid"] = name;
  return request;
}

/// What a dangerous action is about, instead of doing it.
Exit show_danger(Session& session, const Action& action) {
  const std::string& name = session.choice.words[1];
  const std::string verb(action.verb);
  const Reply<Answer> answer = session.api.get(verb + "/" + path_part(name));
  if (!answer) return session.fail(answer.error());
  const bool is_queue = action.verb == "queues";
  session.console.print_member(
      is_queue ? "queue" : "batch",
      name + ": " +
          http::count_of(count_at(answer->json, is_queue ? "ready" : "pending"),
                         is_queue ? "ready job" : "job"));
  return session.fail({.text = std::string("nothing is ") + action.done + " without --yes"});
}

}  // namespace

Exit act(Session& session, std::string_view verb, const char* noun) {
  const Choice& choice = session.choice;
  std::vector<std::string_view> names;
  const Action* found = nullptr;
  for (const Action& action : kActions) {
    if (action.verb != verb) continue;
    names.push_back(action.name);
    if (action.name == choice.words.front()) found = &action;
  }
  if (found == nullptr) {
    return session.refuse_usage("ACTION " + must_be(names, choice.words.front()));
  }
  const bool has_name = choice.words.size() > 1 && !choice.words[1].empty();
  if (choice.is_for_all == has_name) {
    return session.refuse_usage(has_name ? "give a name or --all, not both"
                                         : std::string(noun) + " is needed");
  }
  if (found->is_dangerous && !choice.is_agreed) return show_danger(session, *found);
  const Request request = request_of(choice, *found);
  Interrupts interrupts;
  const Reply<Answer> answer = session.api.post(request.target, request.body.dump());
  if (!answer) return session.fail(answer.error());
  if (member(answer->json, "phase").is_string()) {
    return finish_operation(session, interrupts, *answer, {found->doing, found->done});
  }
  const std::string whom =
      has_name ? choice.words[1] : http::count_of(count_at(answer->json, "told"), "worker");
  return session.print_done(found->done, whom, answer->json);
}

}  // namespace millrace::cli
