#include "cli/members.hpp"
#include "cli/verbs/verbs.hpp"

/// The server at the address, and those that share its log.
namespace millrace::cli {

Exit show_health(Session& session) {
  const Reply<Answer> answer = session.api.health();
  if (!answer) return session.fail(answer.error());
  const Json& all = answer->json;
  const std::string status = text_at(all, "status");
  const bool is_well = status == "serving" || status == "standby";
  if (session.choice.is_json) {
    session.print(all);
  } else {
    Console& console = session.console;
    console.print_member("status", status);
    for (const char* name : {"node", "leader"}) {
      if (!text_at(all, name).empty()) console.print_member(name, text_at(all, name));
    }
    if (status == "serving" && !is_at(all, "accepts_jobs")) {
      console.print_member("new jobs", "refused; see millrace stats");
    }
  }
  return is_well ? Exit::kDone : session.fail({.text = "the server serves no clients: " + status});
}

Exit show_cluster(Session& session) {
  constexpr auto kRight = Table::Side::kRight;
  const Reply<Answer> answer = session.api.get("cluster");
  if (!answer) return session.fail(answer.error());
  const Json& cluster = member(answer->json, "cluster");
  if (session.choice.is_json) {
    session.print(answer->json);
    return Exit::kDone;
  }
  if (!cluster.is_object()) {
    session.console.complain("this server does not use a shared log (--log)");
    return Exit::kDone;
  }
  const Json& engine = member(cluster, "engine");
  const std::string problem = text_at(engine, "problem");
  session.console.print_member(
      "engine", text_at(engine, "url") + (problem.empty() ? "" : ", unreachable: " + problem));
  Table table({{"node"},
               {"role"},
               {.title = "version", .rank = 2},
               {.title = "behind", .side = kRight},
               {.title = "heard", .side = kRight},
               {.title = "web", .rank = 1},
               {.title = "problem"}});
  for (const Json& node : member(cluster, "nodes")) {
    const bool is_silent = is_at(node, "is_silent");
    table.add({{text_at(node, "node")},
               {text_at(node, "role")},
               {text_at(node, "version")},
               {figure_at(node, "lag_messages")},
               {length_at(node, "heard_seconds") + " ago", is_silent ? Color::kRed : Color::kPlain},
               {text_at(member(node, "addresses"), "web")},
               {text_at(node, "problem"), Color::kRed}});
  }
  session.console.print(table.text(session.console.look()));
  return Exit::kDone;
}

}  // namespace millrace::cli
