#include "cli/members.hpp"
#include "cli/verbs/verbs.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

/// `12 ready, 3 dead`
std::string job_counts(const Json& jobs) {
  std::string text;
  for (const char* state : {"ready", "reserved", "scheduled", "retrying", "dead"}) {
    text += (text.empty() ? "" : ", ") + figure_at(jobs, state) + " " + state;
  }
  return text;
}

std::string runs(const Json& counts) {
  return figure_at(counts, "processed") + " processed, " + figure_at(counts, "failed") + " failed";
}

}  // namespace

Exit show_stats(Session& session) {
  // First: a standby hands the connection on to the leader with the first other question.
  const Reply<Answer> own = session.api.health();
  if (!own) return session.fail(own.error());
  const Reply<Answer> answer = session.api.get("overview");
  if (!answer) return session.fail(answer.error());
  const Json& all = answer->json;
  if (session.choice.is_json) {
    session.print(all);
    return Exit::kDone;
  }
  Console& console = session.console;
  const Json& rates = member(all, "per_s");
  const Json& connections = member(all, "connections");
  console.print_member("server", "Millrace " + text_at(all, "version") + " at " +
                                     session.api.shown_url() +
                                     (is_at(all, "is_read_only") ? ", read-only" : ""));
  if (text_at(own->json, "status") == "standby") {
    console.print_member("role", "standby " + text_at(own->json, "node") +
                                     "; the rest is from the leader, " +
                                     text_at(own->json, "leader"));
  }
  const std::string health = text_at(member(all, "health"), "text");
  console.print_member("health", health);
  console.print_member("jobs", job_counts(member(all, "jobs")));
  console.print_member("per second", rate_at(rates, "enqueued") + " enqueued, " +
                                         rate_at(rates, "processed") + " processed, " +
                                         rate_at(rates, "failed") + " failed");
  // A user of some queues is not told all of it.
  const auto print_told = [&](const char* name, const Json& told, const std::string& text) {
    if (!told.is_null()) console.print_member(name, text);
  };
  print_told("today", member(all, "today"), runs(member(all, "today")));
  print_told("in total", member(all, "totals"), runs(member(all, "totals")));
  console.print_member("queues", figure_at(all, "queues"));
  print_told("workers", member(all, "workers"), figure_at(all, "workers"));
  print_told("clients", connections,
             figure_at(connections, "beanstalk") + " beanstalk, " +
                 figure_at(connections, "faktory") + " Faktory");
  const Json& oldest = member(all, "oldest_ready");
  if (oldest.is_object()) {
    console.print_member("oldest", age_at(oldest, "since", answer->now_ms) + " ready in " +
                                       text_at(oldest, "queue"));
  }
  for (const Json& each : member(all, "attention")) {
    const std::string queue = text_at(each, "queue");
    const std::string text = (queue.empty() ? "" : queue + " ") + text_at(each, "text");
    if (text != health) console.print_member(text_at(each, "level"), text);
  }
  const std::uint64_t left_out = count_at(all, "attention_left_out");
  if (left_out > 0) console.print_member("", http::grouped(left_out) + " more");
  return Exit::kDone;
}

}  // namespace millrace::cli
