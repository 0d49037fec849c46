#include "cli/verbs/change_matching.hpp"

#include <algorithm>
#include <map>

#include "cli/members.hpp"
#include "cli/operation.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

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
  add_filters(request, session.choice);
  Interrupts interrupts;
  const Reply<Answer> begun = session.api.post("operations", request.dump(), count.instance);
  if (!begun) return session.fail(begun.error());
  const Reply<Answer> ended = follow(session, interrupts, *begun, words.doing);
  if (!ended) return session.fail(ended.error());
  const std::uint64_t changed = count_at(ended->json, "changed");
  if (session.choice.is_json) session.print(ended->json);
  if (!session.choice.is_json) {
    session.console.print(http::count_of(changed, "job") + " " + words.done + "\n");
  }
  if (text_at(ended->json, "phase") == "cancelled") {
    return session.fail({.exit = Exit::kInterrupted, .text = "cancelled before the end"});
  }
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

}  // namespace

Exit change_matching(Session& session, const ChangeWords& words) {
  const Choice& choice = session.choice;
  if (choice.states.empty()) return session.refuse_usage("name jobs by IDs, or by --state");
  if (std::ranges::find(choice.states, "reserved") != choice.states.end()) {
    return session.refuse_usage("reserved jobs are changed by their IDs only");
  }
  const Reply<Count> count = count_matching(session);
  if (!count) return session.fail(count.error());
  const bool is_for_change = !choice.is_dry && (!words.is_dangerous || choice.is_agreed);
  const bool is_told = choice.is_json ? !is_for_change || count->matched == 0 : count->matched > 0;
  if (is_told) print_count(session, *count);
  if (count->matched == 0) return session.fail({.text = "no job matches"});
  if (choice.is_dry) return Exit::kDone;
  if (!is_for_change) {
    return session.fail({.text = std::string("nothing is ") + words.done + " without --yes"});
  }
  return make_change(session, words, *count);
}

}  // namespace millrace::cli
