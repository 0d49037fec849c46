#include "base/text.hpp"
#include "cli/members.hpp"
#include "cli/named_job.hpp"
#include "cli/verbs/verbs.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

/// Members that are there and not null, with their times as they are.
void print_texts(Console& console, const Json& object,
                 std::initializer_list<std::pair<const char*, const char*>> names) {
  for (const auto& [title, name] : names) {
    const std::string text = text_at(object, name);
    if (!text.empty()) console.print_member(title, text);
  }
}

/// Each line of the text for itself: only line ends are kept.
void print_lines(Console& console, const char* title, std::string_view text) {
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    console.print_member(title, text.substr(0, end));
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
    title = "";
  }
}

void print_error(Console& console, const Json& error) {
  if (!error.is_object()) return;
  const std::string message = text_at(error, "message");
  print_lines(console, "error", text_at(error, "type") + (message.empty() ? "" : ": ") + message);
  const std::string left = text_at(error, "retries_left");
  const bool has_retries = !left.empty() && !left.starts_with('-');
  console.print_member(
      "failures", figure_at(error, "failures") + (has_retries ? ", retries left: " + left : ""));
  print_texts(console, error, {{"next retry", "next_at"}, {"why then", "next_why"}});
  const char* title = "backtrace";
  for (const Json& line : member(error, "backtrace")) {
    if (!line.is_string()) continue;
    print_lines(console, title, line.get<std::string>());
    title = "";
  }
}

std::string shown_holder(const Json& holder) {
  const std::string wid = text_at(holder, "wid");
  if (!wid.empty()) return "worker " + wid;
  const std::string client = text_at(holder, "client");
  return client.empty() ? "a producer" : "connection " + client;
}

void print_tallies(Console& console, const Json& tallies) {
  std::string text;
  for (const auto& [name, count] : tallies.items()) {
    if (!count.is_number_unsigned() || count == 0) continue;
    text += (text.empty() ? "" : ", ") + http::concat(name, ": ", count.get<std::uint64_t>());
  }
  if (!text.empty()) console.print_member("so far", text);
}

void print_attempts(Console& console, const Json& attempts) {
  for (const Json& each : attempts) {
    const Json& error = member(each, "error");
    const std::string message = one_line(text_at(error, "message"), 200);
    console.print_member(
        "attempt " + text_at(each, "number"),
        text_at(each, "ended_at") + " " + text_at(each, "outcome") + ", by " + shown_holder(each) +
            (error.is_object() ? ", " + text_at(error, "type") + ": " + message : ""));
  }
}

void print_body(Console& console, const Json& job) {
  const Json& body = member(job, "body");
  const bool is_text = is_at(body, "is_text");
  console.print_member("body", figure_at(job, "body_bytes") + " bytes" +
                                   (is_text ? "" : ", in base64") +
                                   (is_at(body, "is_cut") ? ", the beginning" : ""));
  print_lines(console, "", text_at(body, is_text ? "text" : "base64"));
}

/// Why no worker gets the job: `throttled: type Mail 2 of 2`.
void print_hold(Console& console, const Json& held_up) {
  if (!held_up.is_object()) return;
  const std::string limit = text_at(held_up, "throttled");
  const std::string until = text_at(held_up, "until");
  console.print_member("held up", text_at(held_up, "reason") + (limit.empty() ? "" : ": " + limit) +
                                      (until.empty() ? "" : " until " + until));
}

/// What the time is at which the job changes its state, or has died.
const char* time_label(std::string_view state) {
  if (state == "dead") return "died";
  if (state == "reserved") return "times out";
  return state == "retrying" ? "next retry" : "due";
}

void print_job(Console& console, const Json& job) {
  print_texts(console, job,
              {{"id", "id"},
               {"jid", "jid"},
               {"type", "type"},
               {"queue", "queue"},
               {"state", "state"},
               {time_label(text_at(job, "state")), "when"},
               {"created", "created_at"},
               {"enqueued", "enqueued_at"},
               {"expires", "expires_at"},
               {"priority", "pri"},
               {"ttr", "ttr_s"}});
  const Json& held = member(job, "reservation");
  if (held.is_object()) {
    console.print_member("held by", shown_holder(held) + " since " + text_at(held, "since"));
  }
  const Json& lock = member(job, "lock");
  if (lock.is_object()) {
    console.print_member(
        "unique", is_at(lock, "is_held") ? "until " + text_at(lock, "until") : "its lock is over");
  }
  print_hold(console, member(job, "held_up"));
  const Json& batch = member(job, "batch");
  if (batch.is_object()) print_texts(console, batch, {{"batch", "bid"}, {"role", "role"}});
  print_tallies(console, member(job, "tallies"));
  print_error(console, member(job, "error"));
  print_attempts(console, member(job, "attempts"));
  print_body(console, job);
}

void print_finished(Console& console, const Json& job) {
  print_texts(console, job,
              {{"id", "id"},
               {"jid", "jid"},
               {"type", "type"},
               {"queue", "queue"},
               {"outcome", "outcome"},
               {"created", "created_at"},
               {"enqueued", "enqueued_at"},
               {"began", "began_at"},
               {"ended", "ended_at"},
               {"worker", "wid"},
               {"connection", "client"},
               {"runs", "runs"}});
  print_attempts(console, member(job, "attempts"));
}

void print_namesakes(Console& console, const Json& all) {
  Table table({{"id", Table::Side::kRight}, {"queue"}, {"type"}, {"state"}, {"created"}});
  for (const char* list : {"jobs", "finished"}) {
    for (const Json& job : member(all, list)) {
      const std::string state = text_at(job, "state");
      table.add({{text_at(job, "id")},
                 {text_at(job, "queue")},
                 {text_at(job, "type")},
                 {state.empty() ? text_at(job, "outcome") : state},
                 {text_at(job, "created_at")}});
    }
  }
  console.print(table.text(console.look()));
}

}  // namespace

Exit peek_job(Session& session) {
  const Reply<NamedJob> found = find_job(session, session.choice.words.front());
  if (!found) return session.fail(found.error());
  const Answer& answer = found->answer;
  if (session.choice.is_json) {
    // As the server wrote it: numbers of a work unit may be larger than any that we could hold.
    session.print_json(answer.body);
    return Exit::kDone;
  }
  switch (found->kind) {
    case NamedJob::Kind::kJob:
      print_job(session.console, answer.json);
      break;
    case NamedJob::Kind::kFinished:
      print_finished(session.console, answer.json);
      break;
    case NamedJob::Kind::kSeveral:
      print_namesakes(session.console, answer.json);
      break;
  }
  return Exit::kDone;
}

}  // namespace millrace::cli
