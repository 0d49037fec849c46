#include <cstdint>
#include <string>

#include "cli/members.hpp"
#include "cli/verbs/verbs.hpp"

/// Lists of what the server has counted, noted and locked.
namespace millrace::cli {
Exit list_types(Session& session) {
  constexpr auto kRight = Table::Side::kRight;
  const Reply<AllRows> rows = read_rows(session, "types", "types", UINT64_MAX);
  if (!rows) return session.fail(rows.error());
  Table table({{"type"},
               {"runs", kRight},
               {"failed", kRight},
               {.title = "runs/s", .side = kRight, .rank = 2},
               {.title = "fail/s", .side = kRight, .rank = 2},
               {.title = "p50", .side = kRight, .rank = 1},
               {.title = "p95", .side = kRight, .rank = 1},
               {"last", kRight}});
  for (const Json& type : member(rows->document, "types")) {
    const std::string age = age_at(type, "last_at", rows->now_ms);
    table.add(
        {{text_at(type, "type")},
         {figure_at(type, "processed")},
         {figure_at(type, "failed"), count_at(type, "failed") == 0 ? Color::kDim : Color::kRed},
         {rate_at(type, "processed_per_s")},
         {rate_at(type, "failed_per_s")},
         {length_at(type, "run_p50_s")},
         {length_at(type, "run_p95_s")},
         {age.empty() ? "" : age + " ago"}});
  }
  return show_rows(session, *rows, table, "no typed job has finished a run yet");
}

Exit list_changes(Session& session) {
  constexpr auto kRight = Table::Side::kRight;
  std::string target = "activity?limit=200";
  add_filters(target, session.choice);
  if (session.choice.are_lines) {
    const Reply<std::string> lines = session.api.bytes(target + "&format=ndjson");
    if (!lines) return session.fail(lines.error());
    session.console.print(*lines);
    return Exit::kDone;
  }
  const Reply<AllRows> rows = read_rows(session, target, "changes", session.choice.rows_max);
  if (!rows) return session.fail(rows.error());
  Table table({{.title = "at", .cut = Table::Cut::kNever},
               {"action"},
               {"target"},
               {.title = "jobs", .side = kRight},
               {.title = "from", .rank = 1},
               {.title = "client", .rank = 2},
               {"details"}});
  for (const Json& change : member(rows->document, "changes")) {
    const std::string user = text_at(change, "user");
    const bool is_refused = is_at(change, "is_refused");
    table.add({{text_at(change, "at")},
               {text_at(change, "action"), is_refused ? Color::kRed : Color::kPlain},
               {text_at(change, "target")},
               {text_at(change, "changed")},
               {(user.empty() ? "" : user + " at ") + text_at(change, "from")},
               {text_at(change, "client")},
               {(is_refused ? "refused " + text_at(change, "attempts") + "x: " : "") +
                text_at(change, "details")}});
  }
  return show_rows(session, *rows, table, "no matching changes");
}

Exit list_locks(Session& session) {
  constexpr auto kRight = Table::Side::kRight;
  if (!session.choice.words.empty()) return act(session, "locks", "JOB");
  std::string target = "locks?limit=200";
  add_filters(target, session.choice);
  const Reply<AllRows> rows = read_rows(session, target, "locks", session.choice.rows_max);
  if (!rows) return session.fail(rows.error());
  Table table({{"job", kRight},
               {"queue"},
               {"type"},
               {"state"},
               {"held for", kRight},
               {"until"},
               {.title = "ends with", .rank = 1}});
  for (const Json& lock : member(rows->document, "locks")) {
    table.add({{text_at(lock, "job")},
               {text_at(lock, "queue")},
               {text_at(lock, "type")},
               {text_at(lock, "state")},
               {age_at(lock, "since", rows->now_ms)},
               {text_at(lock, "until"), is_at(lock, "is_over") ? Color::kYellow : Color::kPlain},
               {text_at(lock, "ends_with")}});
  }
  return show_rows(session, *rows, table, "no unique job holds a lock");
}

}  // namespace millrace::cli
