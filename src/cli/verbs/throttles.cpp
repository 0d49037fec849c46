#include <string>

#include "cli/members.hpp"
#include "cli/value_hint.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {
namespace {

void add_part(std::string& text, const std::string& part) {
  text += (text.empty() ? "" : ", ") + part;
}

/// `4 concurrent, 2 per worker, 100 per 60 s`
std::string limits_of(const Json& limits) {
  std::string text;
  if (count_at(limits, "concurrency") > 0) {
    add_part(text, figure_at(limits, "concurrency") + " concurrent");
  }
  if (count_at(limits, "worker") > 0) add_part(text, figure_at(limits, "worker") + " per worker");
  if (count_at(limits, "per_key") > 0) add_part(text, figure_at(limits, "per_key") + " per key");
  if (count_at(limits, "rate_count") > 0) {
    add_part(text, figure_at(limits, "rate_count") + " per " + text_at(limits, "rate_s") + " s");
  }
  return text.empty() ? "no limit" : text;
}

std::string set_by(const Json& throttle) {
  return is_at(throttle, "is_by_hand") ? "hand" : text_at(member(throttle, "rule"), "pattern");
}

/// Empty where it has none: types have no ready jobs of their own.
std::string figure_or_unknown(const Json& object, const char* name) {
  return member(object, name).is_null() ? "" : figure_at(object, name);
}

Exit list_throttles(Session& session) {
  constexpr auto kRight = Table::Side::kRight;
  const Reply<AllRows> rows = read_rows(session, "throttles?limit=200", "throttles", UINT64_MAX);
  if (!rows) return session.fail(rows.error());
  Table table({{.title = "name", .cut = Table::Cut::kMiddle},
               {.title = "limits", .cut = Table::Cut::kNever},
               {.title = "set by", .rank = 4},
               {"running", kRight},
               {.title = "free", .side = kRight, .rank = 1},
               {.title = "ready", .side = kRight, .rank = 3},
               {.title = "waiting", .side = kRight, .rank = 2},
               {.title = "handed out", .side = kRight, .rank = 5},
               {.title = "held for", .side = kRight, .rank = 6}});
  for (const Json& each : member(rows->document, "throttles")) {
    const bool is_at_limit = !text_at(each, "throttled").empty();
    table.add({{text_at(each, "name")},
               {limits_of(member(each, "limits"))},
               {set_by(each)},
               {figure_or_unknown(each, "taken"), is_at_limit ? Color::kYellow : Color::kPlain},
               {member(each, "free").is_null() ? "any" : figure_at(each, "free")},
               {figure_or_unknown(each, "ready")},
               {figure_or_unknown(each, "waiting")},
               {figure_at(each, "held")},
               {length_at(each, "held_p50_s")}});
  }
  return show_rows(session, *rows, table, "no queue and no type has limits");
}

Json body_of(const ThrottleChoice& choice) {
  Json body = Json::object();
  const auto add = [&body](const char* name, const std::optional<std::uint64_t>& value) {
    if (value) body[name] = *value;
  };
  add("concurrency", choice.concurrency);
  add("worker", choice.worker);
  add("per_key", choice.per_key);
  add("timeout_s", choice.timeout_s);
  add("rate_count", choice.rate_count);
  add("rate_s", choice.rate_s);
  return body;
}

Exit change_limits(Session& session, const std::string& action, const std::string& queue) {
  const Json body = body_of(session.choice.throttle);
  const Reply<Answer> answer =
      session.api.post("throttles/" + path_part(queue) + "/" + action, body.dump());
  if (!answer) return session.fail(answer.error());
  const std::string limits =
      action == "set" ? ": " + limits_of(member(answer->json, "limits")) : "";
  return session.print_done(action, queue + limits, answer->json);
}

}  // namespace

Exit turn_throttles(Session& session) {
  const ThrottleChoice& choice = session.choice.throttle;
  const auto& words = session.choice.words;
  const std::string action = words.empty() ? "" : words.front();
  if (!action.empty() && !has_word(kThrottleActionWords, action)) {
    return session.refuse_usage("ACTION " + must_be(kThrottleActionWords, action));
  }
  // An empty action is none: `millrace throttles "$ACTION"` must not list in silence.
  if (action.empty() && !words.empty()) return session.refuse_usage("ACTION must not be empty");
  const bool has_options = choice.has_limit() || choice.is_unlimited;
  if (action != "set" && has_options) return session.refuse_usage("limits need the action set");
  if (action.empty()) return list_throttles(session);
  if (words.size() < 2 || words[1].empty())
    return session.refuse_usage("NAME is needed: a queue, or type: and a jobtype");
  // Without any limit the queue would have none, and who forgets an option does not mean that.
  if (action == "set" && choice.has_limit() == choice.is_unlimited) {
    return session.refuse_usage(choice.is_unlimited ? "--unlimited takes no other limits"
                                                    : "set needs limits, or --unlimited");
  }
  const bool has_slots = choice.concurrency || choice.worker || choice.per_key;
  if (!has_slots && choice.timeout_s) {
    return session.refuse_usage("--timeout needs --concurrency, --worker or --per-key");
  }
  if (has_slots && !choice.timeout_s) {
    return session.refuse_usage(
        "--concurrency, --worker and --per-key need --timeout: "
        "a job that runs for longer no longer counts");
  }
  return change_limits(session, action, words[1]);
}

}  // namespace millrace::cli
