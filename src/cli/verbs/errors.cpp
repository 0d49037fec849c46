#include <algorithm>
#include <map>
#include <vector>

#include "cli/members.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs/verbs.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

using Side = Table::Side;

constexpr const char* kGroupStates[] = {"retrying", "dead", "ready", "reserved", "scheduled"};

std::uint64_t jobs_of(const Json& group) {
  std::uint64_t jobs = 0;
  for (const char* state : kGroupStates) jobs += count_at(group, state);
  return jobs;
}

/// Times are texts of one form, so their order is that of the texts.
void add_group(const Json& slice, Json& to) {
  for (const char* state : kGroupStates) to[state] = count_at(to, state) + count_at(slice, state);
  if (text_at(slice, "first_at") < text_at(to, "first_at")) to["first_at"] = slice["first_at"];
  if (text_at(slice, "last_at") > text_at(to, "last_at")) {
    for (const char* name : {"last_at", "message", "sample"}) to[name] = member(slice, name);
  }
  for (const Json& queue : member(slice, "queues")) {
    Json& queues = to["queues"];
    if (std::find(queues.begin(), queues.end(), queue) == queues.end()) queues.push_back(queue);
  }
}

Table errors_table(const Json& groups, std::int64_t now_ms) {
  Table table({{"jobs", Side::kRight},
               {.title = "dead", .side = Side::kRight, .rank = 2},
               {.title = "retrying", .side = Side::kRight, .rank = 3},
               {"last", Side::kRight},
               {.title = "group", .cut = Table::Cut::kNever, .rank = 1},
               {"type"},
               {"message"},
               {.title = "queues", .rank = 4}});
  for (const Json& group : groups) {
    table.add({{http::grouped(jobs_of(group))},
               {figure_at(group, "dead"), Color::kRed},
               {figure_at(group, "retrying"), Color::kYellow},
               {age_at(group, "last_at", now_ms) + " ago"},
               {text_at(group, "group")},
               {text_at(group, "type")},
               {text_at(group, "message")},
               {joined_at(group, "queues")}});
  }
  return table;
}

}  // namespace

Exit list_errors(Session& session) {
  std::map<std::string, Json> groups;
  std::uint64_t looked_at = 0;
  const Reply<Answer> last = each_page(session, "errors", [&](const Answer& page) {
    looked_at += count_at(page.json, "looked_at");
    const bool is_last = text_at(page.json, "next").empty();
    if (!is_last) session.console.show_progress(http::count_of(looked_at, "job") + " looked at");
    for (const Json& group : member(page.json, "groups")) {
      const auto [place, is_new] = groups.try_emplace(text_at(group, "group"), group);
      if (!is_new) add_group(group, place->second);
    }
    return true;
  });
  if (!last) return session.fail(last.error());
  std::vector<Json> sorted;
  sorted.reserve(groups.size());
  for (auto& [name, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Json& a, const Json& b) { return jobs_of(a) > jobs_of(b); });
  if (session.choice.is_json) {
    Json document = last->json;
    document["groups"] = std::move(sorted);
    document["looked_at"] = looked_at;
    session.print(document);
    return Exit::kDone;
  }
  if (sorted.empty()) {
    session.console.complain("no job has failed");
    return Exit::kDone;
  }
  session.console.print(errors_table(sorted, last->now_ms).text(session.console.look()));
  return Exit::kDone;
}

}  // namespace millrace::cli
