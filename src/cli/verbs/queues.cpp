#include "base/text.hpp"
#include "cli/members.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {
namespace {

std::string note_of(const Json& queue) {
  if (is_at(queue, "is_paused")) return "paused";
  const std::string throttled = text_at(queue, "throttled");
  return throttled.empty() ? "" : "throttled: " + throttled;
}

Table::Cell count_cell(const Json& queue, const char* name, Color color) {
  return {figure_at(queue, name), count_at(queue, name) == 0 ? Color::kDim : color};
}

struct Figure {
  const char* title;
  int rank;  ///< of its column
  Table::Cell (*cell)(const Json& queue, std::int64_t now_ms);
};

constexpr Figure kFigures[] = {
    {"ready", 0, [](const Json& q, std::int64_t) { return count_cell(q, "ready", Color::kPlain); }},
    {"oldest", 4,
     [](const Json& q, std::int64_t now_ms) {
       return Table::Cell{age_at(q, "oldest_ready_at", now_ms)};
     }},
    {"reserved", 1,
     [](const Json& q, std::int64_t) { return count_cell(q, "reserved", Color::kPlain); }},
    {"scheduled", 5,
     [](const Json& q, std::int64_t) { return count_cell(q, "scheduled", Color::kPlain); }},
    {"retrying", 3,
     [](const Json& q, std::int64_t) { return count_cell(q, "retrying", Color::kYellow); }},
    {"dead", 2, [](const Json& q, std::int64_t) { return count_cell(q, "dead", Color::kRed); }},
    {"in/s", 7,
     [](const Json& q, std::int64_t) { return Table::Cell{rate_at(q, "enqueued_per_s")}; }},
    {"out/s", 6,
     [](const Json& q, std::int64_t) { return Table::Cell{rate_at(q, "processed_per_s")}; }},
    {"fail/s", 8,
     [](const Json& q, std::int64_t) { return Table::Cell{rate_at(q, "failed_per_s")}; }},
};

/// Notes are rare, and have a column only where there is one.
Table queues_table(const AllRows& all) {
  const Json& queues = member(all.document, "queues");
  bool has_notes = false;
  for (const Json& queue : queues) has_notes = has_notes || !note_of(queue).empty();
  std::vector<Table::Column> columns = {{.title = "queue", .cut = Table::Cut::kMiddle}};
  if (has_notes) columns.push_back({"note"});
  for (const Figure& figure : kFigures) {
    columns.push_back({.title = figure.title, .side = Table::Side::kRight, .rank = figure.rank});
  }
  Table table(std::move(columns));
  for (const Json& queue : queues) {
    std::vector<Table::Cell> cells = {{text_at(queue, "name")}};
    if (has_notes) cells.push_back({note_of(queue), Color::kYellow});
    for (const Figure& figure : kFigures) cells.push_back(figure.cell(queue, all.now_ms));
    table.add(std::move(cells));
  }
  return table;
}

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

Exit list_queues(Session& session) {
  if (!session.choice.words.empty()) return act(session, "queues", "QUEUE");
  if (session.choice.is_json && session.choice.are_names) {
    return session.refuse_usage("give one of --json and --names");
  }
  const Reply<AllRows> all = read_queues(session, session.choice.match);
  if (!all) return session.fail(all.error());
  const Json& queues = member(all->document, "queues");
  if (session.choice.is_json) session.print(all->document);
  if (queues.empty()) {
    if (!session.choice.match.empty()) return session.fail({.text = "no queue matches"});
    const bool is_for_programs = session.choice.is_json || session.choice.are_names;
    if (!is_for_programs) session.console.complain("there are no queues");
    return Exit::kDone;
  }
  if (session.choice.is_json) return Exit::kDone;
  if (session.choice.are_names) {
    for (const Json& queue : queues) session.console.print(harmless(text_at(queue, "name")) + "\n");
    return Exit::kDone;
  }
  session.console.print(queues_table(*all).text(session.console.look()));
  return Exit::kDone;
}

Exit pause_queues(Session& session) {
  Json body = Json::object();
  if (session.choice.pause_s) body["seconds"] = *session.choice.pause_s;
  return turn(session, "pause", "paused", body);
}

Exit resume_queues(Session& session) {
  return turn(session, "resume", "resumed", Json::object());
}

}  // namespace millrace::cli
