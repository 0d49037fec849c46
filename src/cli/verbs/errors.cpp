#include <cstdint>
#include <limits>

#include "cli/members.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs/verbs.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

using Side = Table::Side;

/// What is muted says so first: a column of its own would be left out on most terminals.
std::string message_at(const Json& group, std::int64_t now_ms) {
  const Json& muted = member(group, "muted");
  const std::string message = text_at(group, "message");
  if (muted.is_null()) return message;
  const std::uint64_t jobs = count_at(muted, "below_jobs");
  const std::string how = jobs > 0 ? "below " + http::grouped(jobs) + " jobs"
                                   : "for " + wait_at(muted, "until", now_ms);
  return "[muted " + how + "] " + message;
}

Table errors_table(const Json& groups, std::int64_t now_ms) {
  Table table({{"jobs", Side::kRight},
               {.title = "dead", .side = Side::kRight, .rank = 2},
               {.title = "retrying", .side = Side::kRight, .rank = 3},
               {.title = "again", .side = Side::kRight, .rank = 6},
               {"last", Side::kRight},
               {.title = "group", .cut = Table::Cut::kNever, .rank = 1},
               {"type"},
               {"message"},
               {.title = "frame", .rank = 5},
               {.title = "queues", .rank = 4}});
  for (const Json& group : groups) {
    table.add({{figure_at(group, "jobs")},
               {figure_at(group, "dead"), Color::kRed},
               {figure_at(group, "retrying"), Color::kYellow},
               {http::grouped(count_at(group, "ready") + count_at(group, "reserved") +
                              count_at(group, "scheduled"))},
               {age_at(group, "last_at", now_ms) + " ago"},
               {text_at(group, "group")},
               {text_at(group, "type")},
               {message_at(group, now_ms)},
               {text_at(group, "frame")},
               {joined_at(group, "queues")}});
  }
  return table;
}

}  // namespace

Exit list_errors(Session& session) {
  constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
  const Reply<AllRows> rows = read_rows(session, "errors?limit=200", "groups", kAll);
  if (!rows) return session.fail(rows.error());
  const Table table = errors_table(member(rows->document, "groups"), rows->now_ms);
  return show_rows(session, *rows, table, "no job has failed");
}

}  // namespace millrace::cli
