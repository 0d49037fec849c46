#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "cli/interrupts.hpp"
#include "cli/members.hpp"
#include "cli/named_job.hpp"
#include "cli/verbs/verbs.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;

/// How a change is called.
struct ChangeWords {
  const char* action;        ///< of the API: `retry`, `kill`, `move`, `delete`
  const char* doing;         ///< `deleting`
  const char* done;          ///< `deleted`
  bool is_dangerous = true;  ///< it is made with --yes only, unless the jobs were named
};

/// A short operation is not waited for longer than needed, and a long one not asked for often.
constexpr auto kFirstWait = 10ms;
constexpr auto kLongestWait = 400ms;

void show(Session& session, const Json& operation, const std::string& doing) {
  const std::uint64_t all = std::max<std::uint64_t>(count_at(operation, "to_look_at"), 1);
  const std::uint64_t seen = std::min(count_at(operation, "looked_at"), all);
  session.console.show_progress(
      doing + ": " + http::count_of(count_at(operation, "changed"), "job") + ", " +
      std::to_string(seen * 100 / all) + " % of " + http::grouped(all) + " looked at");
}

/// Follows an operation of the server to its end, and shows its progress. SIGINT cancels it: what
/// was changed stays changed. `interrupts` was there before the operation was asked for: so no
/// signal ends the program before it knows of what it has begun. `doing`: `deleting`. The answer is
/// the operation as it ended.
Reply<Answer> follow(Session& session, Interrupts& interrupts, const Answer& begun,
                     const std::string& doing) {
  Reply<Answer> last = begun;
  const std::string target = "operations/" + text_at(begun.json, "id");
  auto wait = std::chrono::milliseconds(kFirstWait);
  while (text_at(last->json, "phase") == "running") {
    show(session, last->json, doing);
    if (interrupts.wait(wait)) {
      last = session.api.post(target + "/cancel", "{}", begun.instance);
      // It may have ended by itself in this moment.
      if (!last && last.error().status == 409) last = session.api.get(target);
    } else {
      last = session.api.get(target);
    }
    if (!last) {
      return Failure{.exit = last.error().exit,
                     .text = last.error().text + "; it is unknown how many jobs were changed",
                     .status = last.error().status};
    }
    if (last->instance != begun.instance) {
      return Failure{.text = "the server was restarted, which ended the operation"};
    }
    wait = std::min(wait * 2, std::chrono::milliseconds(kLongestWait));
  }
  return last;
}

constexpr std::size_t kNamesShown = 10;

/// The jobs that match, and the moment of their count.
struct Count {
  std::uint64_t matched = 0;
  std::string as_of;
  std::string instance;
  std::map<std::string, std::uint64_t> queues;
  std::map<std::string, std::uint64_t> types;
};

void add_names(const Json& parts, std::map<std::string, std::uint64_t>& to) {
  for (const Json& part : parts) to[text_at(part, "name")] += count_at(part, "jobs");
}

Reply<Count> count_matching(Session& session) {
  Count count;
  for (const std::string& state : session.choice.states) {
    std::string target = "jobs/count?breakdown=1";
    add_parameter(target, "state", state);
    add_filters(target, session.choice);
    const Reply<Answer> last = each_page(session, target, [&](const Answer& slice) {
      // The bounds of the change are those of the first slice.
      if (count.as_of.empty()) count.as_of = slice.as_of;
      if (count.instance.empty()) count.instance = slice.instance;
      count.matched += count_at(slice.json, "matched");
      add_names(member(slice.json, "queues"), count.queues);
      add_names(member(slice.json, "types"), count.types);
      const bool is_last = text_at(slice.json, "next").empty();
      if (!is_last) session.console.show_progress(http::count_of(count.matched, "job") + " so far");
      return true;
    });
    if (!last) return last.error();
    if (last->instance != count.instance) {
      return Failure{.text = "the server was restarted while the jobs were counted"};
    }
  }
  return count;
}

using Part = std::pair<std::string, std::uint64_t>;

/// The most frequent first.
std::vector<Part> sorted(const std::map<std::string, std::uint64_t>& names) {
  std::vector<Part> parts(names.begin(), names.end());
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.second > b.second; });
  return parts;
}

void print_parts(Console& console, const char* title,
                 const std::map<std::string, std::uint64_t>& names) {
  Table table({{"jobs", Table::Side::kRight}, {title}});
  const std::vector<Part> parts = sorted(names);
  for (std::size_t i = 0; i < std::min(parts.size(), kNamesShown); ++i) {
    table.add({{http::grouped(parts[i].second)}, {parts[i].first}});
  }
  if (!table.is_empty()) console.print(table.text(console.look()));
}

Json json_of(const Count& count) {
  Json document{{"matched", count.matched}};
  for (const auto& [name, all] : {std::pair("queues", &count.queues), {"types", &count.types}}) {
    document[name] = Json::array();
    for (const Part& part : sorted(*all)) {
      document[name].push_back({{"name", part.first}, {"jobs", part.second}});
    }
  }
  return document;
}

void print_count(Session& session, const Count& count) {
  if (session.choice.is_json) return session.print(json_of(count));
  session.console.print(http::count_of(count.matched, "job") +
                        (count.matched == 1 ? " matches\n" : " match\n"));
  print_parts(session.console, "queue", count.queues);
  print_parts(session.console, "type", count.types);
}

Exit make_change(Session& session, const ChangeWords& words, const Count& count) {
  Json request{
      {"action", words.action}, {"states", session.choice.states}, {"at_most", count.matched}};
  if (!count.as_of.empty()) request["as_of"] = count.as_of;
  if (!session.choice.to.empty()) request["to"] = session.choice.to;
  if (session.choice.spread_s) request["spread_s"] = *session.choice.spread_s;
  add_filters(request, session.choice);
  Interrupts interrupts;
  const Reply<Answer> begun = session.api.post("operations", request.dump(), count.instance);
  if (!begun) return session.fail(begun.error());
  std::uint64_t changed = 0;
  const Exit exit =
      finish_operation(session, interrupts, *begun, {words.doing, words.done}, &changed);
  if (exit != Exit::kDone) return exit;
  if (changed < count.matched) {
    const std::string why =
        session.choice.to.empty()
            ? ""
            : ", or they were pushed, and Faktory clients cannot name the queue";
    return session.fail({.text = http::count_of(count.matched - changed, "job") +
                                 " not changed: since the count they have changed or ended, or "
                                 "there was nothing to change" +
                                 why});
  }
  return Exit::kDone;
}

/// Counts the jobs that match the filters, and changes these, as far as they are still as they were
/// counted. What is dangerous is only counted, unless a person has agreed.
Exit change_matching(Session& session, const ChangeWords& words) {
  const Choice& choice = session.choice;
  if (choice.states.empty()) return session.refuse_usage("name jobs by IDs, or by --state");
  if (std::ranges::find(choice.states, "reserved") != choice.states.end()) {
    return session.refuse_usage("reserved jobs are changed by their IDs only");
  }
  const Reply<Count> count = count_matching(session);
  if (!count) return session.fail(count.error());
  const bool is_for_change = !choice.is_dry && (!words.is_dangerous || choice.is_agreed);
  const bool prints_count =
      choice.is_json ? !is_for_change || count->matched == 0 : count->matched > 0;
  if (prints_count) print_count(session, *count);
  if (count->matched == 0) return session.fail({.text = "no job matches"});
  if (choice.is_dry) return Exit::kDone;
  if (!is_for_change) {
    return session.fail({.text = std::string("nothing is ") + words.done + " without --yes"});
  }
  return make_change(session, words, *count);
}

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

/// Changes the jobs that were named by their numbers or jids, one after the other. What cannot be
/// changed is told of, and the others are changed.
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

constexpr ChangeWords kRetry{
    .action = "retry", .doing = "retrying", .done = "made ready", .is_dangerous = false};
constexpr ChangeWords kMove{
    .action = "move", .doing = "moving", .done = "moved", .is_dangerous = false};
constexpr ChangeWords kKill{.action = "kill", .doing = "killing", .done = "killed"};
constexpr ChangeWords kDelete{.action = "delete", .doing = "deleting", .done = "deleted"};

Exit change(Session& session, const ChangeWords& words) {
  const Choice& choice = session.choice;
  if (choice.words.empty()) return change_matching(session, words);
  if (!choice.filters.empty()) {
    return session.refuse_usage("jobs are named by their IDs or by filters, not by both");
  }
  // A script whose list of IDs is empty must not change all jobs of a state.
  if (choice.is_agreed) return session.refuse_usage("IDs need no --yes");
  if (choice.spread_s) return session.refuse_usage("--spread works with filters, not with IDs");
  if (choice.is_dry) return session.refuse_usage("--dry-run counts the jobs that match filters");
  if (choice.states.size() > 1) return session.refuse_usage("with IDs, --state is one state");
  return change_named(session, words);
}

}  // namespace

Exit finish_operation(Session& session, Interrupts& interrupts, const Answer& begun,
                      const OperationWords& words, std::uint64_t* changed) {
  const Reply<Answer> ended = follow(session, interrupts, begun, words.doing);
  if (!ended) return session.fail(ended.error());
  const std::uint64_t count = count_at(ended->json, "changed");
  if (changed != nullptr) *changed = count;
  if (session.choice.is_json) {
    session.print(ended->json);
  } else {
    session.console.print(http::count_of(count, "job") + " " + words.done + "\n");
  }
  if (text_at(ended->json, "phase") != "cancelled") return Exit::kDone;
  return session.fail({.exit = Exit::kInterrupted, .text = "cancelled before the end"});
}

Exit retry_jobs(Session& session) {
  return change(session, kRetry);
}

Exit move_jobs(Session& session) {
  if (session.choice.to.empty())
    return session.refuse_usage("--to is needed: the queue to move to");
  return change(session, kMove);
}

Exit kill_jobs(Session& session) {
  return change(session, kKill);
}

Exit delete_jobs(Session& session) {
  return change(session, kDelete);
}

}  // namespace millrace::cli
