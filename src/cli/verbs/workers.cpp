#include "cli/members.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {

Exit list_workers(Session& session) {
  if (!session.choice.words.empty()) return act(session, "workers", "WID");
  using Side = Table::Side;
  using Cut = Table::Cut;
  Json workers = Json::array();
  const Reply<Answer> last = each_page(session, "workers?limit=200", [&](const Answer& page) {
    for (const Json& worker : member(page.json, "workers")) workers.push_back(worker);
    return true;
  });
  if (!last) return session.fail(last.error());
  if (session.choice.is_json) {
    Json document = last->json;
    document["workers"] = std::move(workers);
    session.print(document);
    return Exit::kDone;
  }
  if (workers.empty()) {
    session.console.complain("there are no Faktory workers");
    return Exit::kDone;
  }
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
  for (const Json& worker : workers) {
    const std::string state = text_at(worker, "state");
    table.add({{text_at(worker, "wid")},
               {text_at(worker, "hostname")},
               {text_at(worker, "pid")},
               {state, state == "running" ? Color::kPlain : Color::kYellow},
               {figure_at(worker, "jobs")},
               {std::to_string(count_at(worker, "rss_bytes") / kMiB)},
               {age_at(worker, "started_at", last->now_ms) + " ago"},
               {age_at(worker, "last_beat_at", last->now_ms) + " ago"},
               {joined_at(worker, "queues")},
               {joined_at(worker, "labels")}});
  }
  session.console.print(table.text(session.console.look()));
  return Exit::kDone;
}

}  // namespace millrace::cli
