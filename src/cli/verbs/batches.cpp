#include "cli/members.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {
namespace {

Color color_of(const std::string& state) {
  if (state == "failed") return Color::kRed;
  return state == "succeeded" ? Color::kGreen : Color::kPlain;
}

/// Why it has not succeeded yet; red where somebody has to act.
Table::Cell cause_of(const Json& batch, std::int64_t now_ms) {
  const Json& cause = member(batch, "cause");
  const std::string wait = wait_at(cause, "next_at", now_ms);
  const std::string next = wait.empty() ? "" : ", the next in " + wait;
  return {text_at(cause, "text") + next, is_at(cause, "is_blocked") ? Color::kRed : Color::kPlain};
}

}  // namespace

Exit list_batches(Session& session) {
  if (!session.choice.words.empty()) return act(session, "batches", "BID");
  constexpr auto kRight = Table::Side::kRight;
  std::string target = "batches?limit=200";
  const std::string& state = session.choice.batch_state;
  if (!state.empty()) add_parameter(target, "state", state);
  const Reply<AllRows> rows = read_rows(session, target, "batches", session.choice.rows_max);
  if (!rows) return session.fail(rows.error());
  Table table({{"bid"},
               {"state"},
               {"jobs", kRight},
               {"pending", kRight},
               {"failed", kRight},
               {"children", kRight},
               {"created", kRight},
               {"description"},
               {"cause"}});
  for (const Json& batch : member(rows->document, "batches")) {
    const std::string its_state = text_at(batch, "state");
    table.add({{text_at(batch, "bid")},
               {its_state, color_of(its_state)},
               {figure_at(batch, "total")},
               {figure_at(batch, "pending")},
               {figure_at(batch, "failed"), Color::kRed},
               {figure_at(batch, "children")},
               {age_at(batch, "created_at", rows->now_ms) + " ago"},
               {text_at(batch, "description")},
               cause_of(batch, rows->now_ms)});
  }
  return show_rows(session, *rows, table,
                   state.empty() ? "there are no batches" : "there are no such batches");
}

}  // namespace millrace::cli
