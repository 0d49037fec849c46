#include <string>

#include "cli/members.hpp"
#include "cli/value_hint.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {
namespace {

Exit list_tokens(Session& session) {
  constexpr auto kRight = Table::Side::kRight;
  const Reply<AllRows> rows = read_rows(session, "tokens", "tokens", UINT64_MAX);
  if (!rows) return session.fail(rows.error());
  Table table({{.title = "id", .cut = Table::Cut::kNever},
               {"name"},
               {.title = "user", .rank = 2},
               {"may"},
               {"queues"},
               {"expires in", kRight},
               {.title = "last used", .side = kRight, .rank = 1}});
  for (const Json& token : member(rows->document, "tokens")) {
    const std::string used = age_at(token, "last_used_at", rows->now_ms);
    const Table::Cell expires = is_at(token, "has_expired")
                                    ? Table::Cell{"expired", Color::kRed}
                                    : Table::Cell{wait_at(token, "expires_at", rows->now_ms)};
    table.add({{text_at(token, "id")},
               {text_at(token, "name")},
               {text_at(token, "user")},
               {joined_at(token, "may")},
               {joined_at(token, "queues")},
               expires,
               {used.empty() ? "" : used + " ago"}});
  }
  return show_rows(session, *rows, table, "there are no tokens");
}

Exit make_token(Session& session, const std::string& name) {
  const TokenChoice& choice = session.choice.token;
  Json body = {{"name", name}, {"may", choice.may}, {"expires_s", *choice.expires_s}};
  if (!choice.queues.empty()) body["queues"] = choice.queues;
  const Reply<Answer> answer = session.api.post("tokens", body.dump());
  if (!answer) return session.fail(answer.error());
  const Exit exit = session.print_done("token", text_at(answer->json, "token"), answer->json);
  if (session.choice.is_json || exit != Exit::kDone) return exit;
  session.console.print_member("id", text_at(answer->json, "id"));
  session.console.print_member("note", "the token is not shown again: store it now");
  return exit;
}

}  // namespace

Exit turn_tokens(Session& session) {
  const TokenChoice& choice = session.choice.token;
  const auto& words = session.choice.words;
  const std::string action = words.empty() ? "" : words.front();
  if (!words.empty() && !has_word(kTokenActionWords, action)) {
    return session.refuse_usage("ACTION " + must_be(kTokenActionWords, action));
  }
  const bool has_options = !choice.may.empty() || !choice.queues.empty() || choice.expires_s;
  if (action != "new" && has_options) {
    return session.refuse_usage("--may, --queues and --expires need the action new");
  }
  if (action.empty()) return list_tokens(session);
  if (words.size() < 2 || words[1].empty()) {
    return session.refuse_usage(action == "new" ? "NAME is needed"
                                                : "an ID is needed: `millrace tokens` lists them");
  }
  if (action == "revoke") {
    const Reply<Answer> answer =
        session.api.post("tokens/" + path_part(words[1]) + "/delete", "{}");
    if (!answer) return session.fail(answer.error());
    return session.print_done("revoked", text_at(answer->json, "name"), answer->json);
  }
  if (choice.may.empty() || !choice.expires_s) {
    return session.refuse_usage("new needs --may and --expires: --may view --expires 30d");
  }
  return make_token(session, words[1]);
}

}  // namespace millrace::cli
