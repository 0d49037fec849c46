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

struct Figure {
  const char* title;
  Table::Cell (*cell)(const Json& queue, std::int64_t now_ms);
  int rank;  ///< where there is too little room, that of the highest one is left out first
};

constexpr Figure kFigures[] = {
    {"ready", [](const Json& q, std::int64_t) { return count_cell(q, "ready", Color::kPlain); }, 0},
    {"oldest",
     [](const Json& q, std::int64_t now_ms) {
       return Table::Cell{age_at(q, "oldest_ready_at", now_ms)};
     },
     4},
    {"reserved",
     [](const Json& q, std::int64_t) { return count_cell(q, "reserved", Color::kPlain); }, 1},
    {"scheduled",
     [](const Json& q, std::int64_t) { return count_cell(q, "scheduled", Color::kPlain); }, 5},
    {"retrying",
     [](const Json& q, std::int64_t) { return count_cell(q, "retrying", Color::kYellow); }, 3},
    {"dead", [](const Json& q, std::int64_t) { return count_cell(q, "dead", Color::kRed); }, 2},
    {"in/s", [](const Json& q, std::int64_t) { return Table::Cell{rate_at(q, "enqueued_per_s")}; },
     7},
    {"out/s",
     [](const Json& q, std::int64_t) { return Table::Cell{rate_at(q, "processed_per_s")}; }, 6},
    {"fail/s", [](const Json& q, std::int64_t) { return Table::Cell{rate_at(q, "failed_per_s")}; },
     8},
};
constexpr int kRankMax = 8;

struct Shown {
  int rank_max = kRankMax;  ///< figures with a higher one are left out
  std::size_t text_columns = SIZE_MAX;
};

/// Notes are rare, and have a column only where there is one.
Table queues_table(const AllQueues& all, const Shown& shown) {
  const Json& queues = member(all.document, "queues");
  bool has_notes = false;
  for (const Json& queue : queues) has_notes = has_notes || !note_of(queue).empty();
  std::vector<Table::Column> columns = {{"queue"}};
  if (has_notes) columns.push_back({"note"});
  for (const Figure& figure : kFigures) {
    if (figure.rank <= shown.rank_max) columns.push_back({figure.title, Table::Side::kRight});
  }
  Table table(std::move(columns));
  for (const Json& queue : queues) {
    const auto text = [&](const std::string& all_of_it) {
      return cut_to_width(harmless(all_of_it), shown.text_columns);
    };
    std::vector<Table::Cell> cells = {{text(text_at(queue, "name"))}};
    if (has_notes) cells.push_back({text(note_of(queue)), Color::kYellow});
    for (const Figure& figure : kFigures) {
      if (figure.rank <= shown.rank_max) cells.push_back(figure.cell(queue, all.now_ms));
    }
    table.add(std::move(cells));
  }
  return table;
}

/// The highest rank whose figures fit into the terminal, with texts of a length that tells queues
/// apart.
int rank_that_fits(const AllQueues& all, const Table::Look& look) {
  constexpr std::size_t kTextColumns = 16;
  int rank = kRankMax;
  while (look.columns && rank > 0) {
    // The last column is to the right: so the line of the titles is as long as any.
    const std::string text =
        queues_table(all, {.rank_max = rank, .text_columns = kTextColumns}).text({});
    if (display_width(text.substr(0, text.find('\n'))) <= *look.columns) break;
    --rank;
  }
  return rank;
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
  const Table::Look& look = session.console.look();
  session.console.print(queues_table(*all, {.rank_max = rank_that_fits(*all, look)}).text(look));
  return Exit::kDone;
}

}  // namespace millrace::cli
