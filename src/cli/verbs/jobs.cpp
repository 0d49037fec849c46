#include <algorithm>

#include "cli/members.hpp"
#include "cli/named_job.hpp"
#include "cli/show/table.hpp"
#include "cli/value_hint.hpp"
#include "cli/verbs/verbs.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

using Side = Table::Side;

constexpr std::uint64_t kPageRows = 200;

/// How the jobs of a state are shown.
struct StateColumns {
  const char* state;
  const char* time_title;
  std::string (*time)(const Json& job, std::int64_t now_ms);
  bool has_holder = false;
  bool has_error = false;
};

constexpr StateColumns kJobStates[] = {
    {"ready", "ready for",
     [](const Json& job, std::int64_t now_ms) { return age_at(job, "enqueued_at", now_ms); }},
    {"scheduled", "due in",
     [](const Json& job, std::int64_t now_ms) { return wait_at(job, "when", now_ms); }},
    {.state = "reserved",
     .time_title = "expires in",
     .time = [](const Json& job, std::int64_t now_ms) { return wait_at(job, "when", now_ms); },
     .has_holder = true},
    {.state = "retrying",
     .time_title = "retry in",
     .time = [](const Json& job, std::int64_t now_ms) { return wait_at(job, "when", now_ms); },
     .has_error = true},
    {.state = "dead",
     .time_title = "dead for",
     .time = [](const Json& job, std::int64_t now_ms) { return age_at(job, "when", now_ms); },
     .has_error = true},
};

std::string holder_of(const Json& job) {
  std::string wid = text_at(job, "wid");
  if (!wid.empty()) return wid;
  const std::string client = text_at(job, "client");
  return client.empty() ? "" : "connection " + client;
}

std::string error_of(const Json& job) {
  const Json& error = member(job, "error");
  const std::string message = text_at(error, "message");
  return text_at(error, "type") + (message.empty() ? "" : ": " + message);
}

/// Lists have the beginning of the arguments only.
Reply<Done> complete_arguments(Session& session, Json& job) {
  if (!session.choice.is_full || !is_at(job, "is_cut")) return Done{};
  const Reply<Answer> whole = session.api.get("jobs/" + text_at(job, "id"));
  // A job that has ended meanwhile stays as it was.
  if (!whole && whole.error().status == kNotFound) return Done{};
  if (!whole) return whole.error();
  const Json& args = member(member(whole->json, "work_unit"), "args");
  const Json& body = member(whole->json, "body");
  const bool is_text = is_at(body, "is_text");
  job["args"] = args.is_array() ? args.dump() : text_at(body, is_text ? "text" : "base64");
  job["is_cut"] = !args.is_array() && is_at(body, "is_cut");
  return Done{};
}

Reply<AllRows> search_jobs(Session& session, const std::string& target) {
  Json jobs = Json::array();
  std::uint64_t looked_at = 0;
  std::string cursor;
  while (true) {
    std::string page = target;
    const std::uint64_t wanted = session.choice.rows_max - jobs.size();
    add_parameter(page, "limit", std::to_string(std::min(wanted, kPageRows)));
    if (!cursor.empty()) add_parameter(page, "cursor", cursor);
    const Reply<Answer> answer = session.api.get(page);
    if (!answer) return answer.error();
    for (const Json& job : member(answer->json, "jobs")) {
      jobs.push_back(job);
      if (auto done = complete_arguments(session, jobs.back()); !done) return done.error();
    }
    looked_at += count_at(answer->json, "looked_at");
    cursor = text_at(answer->json, "next");
    if (!cursor.empty() && jobs.size() < session.choice.rows_max) {
      session.console.show_progress(http::count_of(looked_at, "job") + " searched");
      continue;
    }
    AllRows rows{.document = answer->json, .now_ms = answer->now_ms};
    rows.document["jobs"] = std::move(jobs);
    rows.document["looked_at"] = looked_at;
    return rows;
  }
}

Table jobs_table(const StateColumns& state, const AllRows& rows) {
  std::vector<Table::Column> columns = {
      {"id", Side::kRight}, {"queue"}, {"type"}, {state.time_title, Side::kRight}};
  if (state.has_holder) columns.push_back({.title = "holder", .rank = 1});
  if (state.has_error) columns.push_back({"error"});
  columns.push_back({.title = "arguments", .rank = 2});
  Table table(std::move(columns));
  for (const Json& job : member(rows.document, "jobs")) {
    std::vector<Table::Cell> cells = {{text_at(job, "id")},
                                      {text_at(job, "queue")},
                                      {text_at(job, "type")},
                                      {state.time(job, rows.now_ms)}};
    if (state.has_holder) cells.push_back({holder_of(member(job, "reservation"))});
    if (state.has_error) cells.push_back({error_of(job), Color::kRed});
    cells.push_back({text_at(job, "args") + (is_at(job, "is_cut") ? "…" : "")});
    table.add(std::move(cells));
  }
  return table;
}

Table finished_table(const AllRows& rows) {
  Table table({{"id", Side::kRight},
               {"queue"},
               {"type"},
               {"outcome"},
               {"ended", Side::kRight},
               {.title = "runs", .side = Side::kRight, .rank = 1},
               {.title = "holder", .rank = 2}});
  for (const Json& job : member(rows.document, "jobs")) {
    const bool is_done = text_at(job, "outcome") == "done";
    table.add({{text_at(job, "id")},
               {text_at(job, "queue")},
               {text_at(job, "type")},
               {text_at(job, "outcome"), is_done ? Color::kGreen : Color::kYellow},
               {age_at(job, "ended_at", rows.now_ms) + " ago"},
               {figure_at(job, "runs")},
               {holder_of(job)}});
  }
  return table;
}

/// `table` is called only when there is something to show.
template <typename MakeTable>
Exit show_rows(Session& session, const Reply<AllRows>& rows, const MakeTable& table) {
  if (!rows) return session.fail(rows.error());
  const bool is_empty = member(rows->document, "jobs").empty();
  const Choice& choice = session.choice;
  if (choice.is_json) session.print(rows->document);
  if (is_empty && !choice.is_watched && (!choice.filters.empty() || !choice.outcome.empty())) {
    return session.fail({.text = "no job matches"});
  }
  if (is_empty && !choice.is_json) session.console.complain("no job is " + choice.words.front());
  if (is_empty || choice.is_json) return Exit::kDone;
  session.console.print(table(*rows).text(session.console.look()));
  const bool has_more = !text_at(rows->document, "next").empty();
  if (has_more) session.console.complain("there may be more jobs: use --limit or --all");
  return Exit::kDone;
}

Exit list_finished(Session& session) {
  const Choice& choice = session.choice;
  for (const Filter& filter : choice.filters) {
    if (filter.name != "queue" && filter.name != "type") {
      return session.refuse_usage("completed jobs have the filters --queue, --type and --outcome");
    }
  }
  if (choice.is_reversed) return session.refuse_usage("completed jobs have one order");
  std::string target = "finished";
  add_filters(target, choice);
  if (!choice.outcome.empty()) add_parameter(target, "outcome", choice.outcome);
  return show_rows(session, search_jobs(session, target), finished_table);
}

}  // namespace

Exit list_jobs(Session& session) {
  const Choice& choice = session.choice;
  const std::string& state = choice.words.front();
  if (state == "completed") return list_finished(session);
  const auto* const found =
      std::find_if(std::begin(kJobStates), std::end(kJobStates),
                   [&](const StateColumns& each) { return each.state == state; });
  if (found == std::end(kJobStates)) {
    return session.refuse_usage("STATE " + must_be(kListedStateWords, state));
  }
  if (!choice.outcome.empty()) return session.refuse_usage("only completed jobs have an --outcome");
  std::string target = "jobs";
  add_parameter(target, "state", state);
  add_filters(target, choice);
  if (choice.is_reversed) add_parameter(target, "order", "desc");
  return show_rows(session, search_jobs(session, target),
                   [&](const AllRows& rows) { return jobs_table(*found, rows); });
}

}  // namespace millrace::cli
