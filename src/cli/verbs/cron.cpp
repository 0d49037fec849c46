#include <string>

#include "cli/members.hpp"
#include "cli/value_hint.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {
namespace {

std::string state_of(const Json& entry) {
  if (is_at(entry, "is_paused")) return "paused";
  return is_at(entry, "is_enabled") ? "on" : "disabled";
}

/// What became of the last run: why it was refused, the state of its job, or how that has ended.
Table::Cell outcome_of(const Json& run) {
  if (!run.is_object()) return {"never", Color::kDim};
  const std::string problem = text_at(run, "problem");
  if (!problem.empty()) return {problem, Color::kRed};
  const std::string state = text_at(run, "state");
  if (!state.empty()) return {state};
  const std::string outcome = text_at(run, "outcome");
  if (outcome.empty()) return {"ended"};
  return {outcome, outcome == "done" ? Color::kGreen : Color::kRed};
}

/// In words, or as it is written.
std::string schedule_of(const Json& entry) {
  const std::string words = text_at(entry, "words");
  return words.empty() ? text_at(entry, "schedule") : words;
}

/// As the server writes it: in the entry's own time zone.
std::string next_of(const Json& entry) {
  const Json& next = member(entry, "next");
  const bool is_there = next.is_array() && !next.empty() && next.front().is_string();
  return is_there ? next.front().get<std::string>() : std::string();
}

Exit list_cron(Session& session) {
  constexpr auto kRight = Table::Side::kRight;
  const Reply<AllRows> rows = read_rows(session, "cron?limit=200", "entries", UINT64_MAX);
  if (!rows) return session.fail(rows.error());
  Table table({{"name"},
               {"state"},
               {"schedule"},
               {"type"},
               {"queue"},
               {"last run", kRight},
               {"outcome"},
               {"next run"}});
  for (const Json& entry : member(rows->document, "entries")) {
    const Json& last = member(entry, "last");
    const std::string age = age_at(last, "at", rows->now_ms);
    const std::string state = state_of(entry);
    table.add({{text_at(entry, "name")},
               {state, state == "on" ? Color::kPlain : Color::kYellow},
               {schedule_of(entry)},
               {text_at(entry, "type")},
               {text_at(entry, "queue")},
               {age.empty() ? "" : age + " ago"},
               outcome_of(last),
               {next_of(entry)}});
  }
  return show_rows(session, *rows, table, "there are no cron entries");
}

}  // namespace

Exit turn_cron(Session& session) {
  const auto& words = session.choice.words;
  if (words.empty()) return list_cron(session);
  const std::string& action = words.front();
  if (!has_word(kCronActionWords, action)) {
    return session.refuse_usage("ACTION " + must_be(kCronActionWords, action));
  }
  if (words.size() < 2 || words[1].empty()) {
    return session.refuse_usage("NAME is needed: which entry?");
  }
  const Reply<Answer> answer = session.api.post("cron/" + path_part(words[1]) + "/" + action, "{}");
  if (!answer) return session.fail(answer.error());
  if (action == "run") return show_pushed(session, answer->json);
  return session.print_done(action == "pause" ? "paused" : "resumed", words[1], answer->json);
}

}  // namespace millrace::cli
