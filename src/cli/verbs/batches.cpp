#include <string>
#include <utility>

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

std::string cause_text(const Json& batch, std::int64_t now_ms) {
  const std::string text = cause_of(batch, now_ms).text;
  if (!text.empty()) return text;
  return text_at(batch, "state") == "succeeded" ? "none: it has succeeded" : "not known";
}

/// "12 running, 40 ready, 3 dead"
std::string members_text(const Json& batch) {
  const Json& counts = member(batch, "members");
  const std::pair<const char*, const char*> kParts[] = {{"reserved", "running"},
                                                        {"ready", "ready"},
                                                        {"scheduled", "scheduled"},
                                                        {"retrying", "retrying"},
                                                        {"dead", "dead"}};
  std::string text = figure_at(batch, "succeeded") + " succeeded";
  for (const auto& [name, word] : kParts) {
    if (count_at(counts, name) > 0) text += ", " + figure_at(counts, name) + " " + word;
  }
  if (count_at(batch, "lost") > 0) text += ", " + figure_at(batch, "lost") + " failed permanently";
  return text;
}

Exit show_batch(Session& session, const std::string& bid) {
  const Reply<Answer> answer = session.api.get("batches/" + path_part(bid));
  if (!answer) return session.fail(answer.error());
  const Json& batch = answer->json;
  if (session.choice.is_json) {
    session.print(batch);
    return Exit::kDone;
  }
  Console& console = session.console;
  const auto print = [&](const char* title, const std::string& text) {
    if (!text.empty()) console.print_member(title, text);
  };
  print("bid", text_at(batch, "bid"));
  print("description", text_at(batch, "description"));
  print("state", text_at(batch, "state"));
  print("cause", cause_text(batch, answer->now_ms));
  print("jobs", figure_at(batch, "total"));
  print("members", members_text(batch));
  print("children", figure_at(batch, "children"));
  print("parent", text_at(batch, "parent_bid"));
  print("created", text_at(batch, "created_at"));
  return Exit::kDone;
}

}  // namespace

Exit list_batches(Session& session) {
  const auto& words = session.choice.words;
  if (words.size() > 1 && words.front() == "show") return show_batch(session, words[1]);
  if (!words.empty()) return act(session, "batches", "BID");
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
