#include "cli/members.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {

Exit list_workers(Session& session) {
  if (!session.choice.words.empty()) return act(session, "workers", "WID");
  using Side = Table::Side;
  using Cut = Table::Cut;
  const Reply<AllRows> rows = read_rows(session, "workers?limit=200", "workers", UINT64_MAX);
  if (!rows) return session.fail(rows.error());
  Table table({{.title = "wid", .cut = Cut::kMiddle},
               {.title = "host", .cut = Cut::kMiddle, .rank = 1},
               {.title = "pid", .side = Side::kRight, .rank = 4},
               {"state"},
               {"jobs", Side::kRight},
               {.title = "MiB", .side = Side::kRight, .rank = 5},
               {.title = "started", .side = Side::kRight, .rank = 3},
               {"heard", Side::kRight},
               {.title = "queues", .rank = 2},
               {.title = "labels", .rank = 6}});
  constexpr std::uint64_t kMiB = 1 << 20;
  for (const Json& worker : member(rows->document, "workers")) {
    const std::string state = text_at(worker, "state");
    table.add({{text_at(worker, "wid")},
               {text_at(worker, "hostname")},
               {text_at(worker, "pid")},
               {state, state == "running" ? Color::kPlain : Color::kYellow},
               {figure_at(worker, "jobs")},
               {std::to_string(count_at(worker, "rss_bytes") / kMiB)},
               {age_at(worker, "started_at", rows->now_ms) + " ago"},
               {age_at(worker, "last_beat_at", rows->now_ms) + " ago"},
               {joined_at(worker, "queues")},
               {joined_at(worker, "labels")}});
  }
  return show_rows(session, *rows, table, "there are no Faktory workers");
}

}  // namespace millrace::cli
