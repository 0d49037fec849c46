#include "cli/all_queues.hpp"
#include "cli/members.hpp"
#include "cli/show/table.hpp"
#include "cli/show/width.hpp"
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

/// Notes are rare, and have a column only where there is one.
Table queues_table(const Json& queues, std::int64_t now_ms) {
  bool has_notes = false;
  for (const Json& queue : queues) has_notes = has_notes || !note_of(queue).empty();
  std::vector<Table::Column> columns = {{"queue"}};
  if (has_notes) columns.push_back({"note"});
  for (const char* title : {"ready", "oldest", "reserved", "scheduled", "retrying", "dead", "in/s",
                            "out/s", "fail/s"}) {
    columns.push_back({title, Table::Side::kRight});
  }
  Table table(std::move(columns));
  for (const Json& queue : queues) {
    std::vector<Table::Cell> cells = {{text_at(queue, "name")}};
    if (has_notes) cells.push_back({note_of(queue), Color::kYellow});
    cells.push_back(count_cell(queue, "ready", Color::kPlain));
    cells.push_back({age_at(queue, "oldest_ready_at", now_ms)});
    cells.push_back(count_cell(queue, "reserved", Color::kPlain));
    cells.push_back(count_cell(queue, "scheduled", Color::kPlain));
    cells.push_back(count_cell(queue, "retrying", Color::kYellow));
    cells.push_back(count_cell(queue, "dead", Color::kRed));
    for (const char* name : {"enqueued_per_s", "processed_per_s", "failed_per_s"}) {
      cells.push_back({rate_at(queue, name)});
    }
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

Exit list_queues(Session& session) {
  if (session.choice.is_json && session.choice.are_names) {
    return session.refuse_usage("give one of --json and --names");
  }
  const Reply<AllQueues> all = read_queues(session, session.choice.match);
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
  session.console.print(queues_table(queues, all->now_ms).text(session.console.look()));
  return Exit::kDone;
}

}  // namespace millrace::cli
