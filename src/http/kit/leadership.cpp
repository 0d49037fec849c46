#include "http/kit/leadership.hpp"

#include <algorithm>
#include <array>

#include "http/kit/json.hpp"
#include "http/kit/node_report.hpp"
#include "http/kit/text.hpp"

namespace millrace::http {
namespace {

double as_double(std::uint64_t count) {
  return static_cast<double>(count);
}

void write_appends(const SharedJournal::Figures& log, MetricsPage& page) {
  page.single("millrace_lease_seconds_left", "gauge",
              "How long this server may still answer without a further append.",
              seconds_of(*log.lease_left));
  page.single("millrace_log_in_flight", "gauge", "Entries appended and not stored by the engine.",
              as_double(log.in_flight));
  page.single("millrace_log_refused_total", "counter",
              "Appends that found another end of the log, since this server leads.",
              as_double(log.refused));
  page.single("millrace_log_unknown_total", "counter",
              "Appends that the engine did not answer, since this server leads.",
              as_double(log.unknown));
  page.head("millrace_log_append_seconds", "histogram",
            "From an append to the shared log until the engine has stored it.");
  page.histogram("millrace_log_append_seconds", "", log.appends);
}

void write_log(const LeadershipFacts& facts, MetricsPage& page) {
  const SharedJournal::Figures& log = *facts.log;
  const bool leads = log.lease_left.has_value();
  page.single("millrace_leading", "gauge", "1 while it leads a shared log, and its lease holds.",
              leads && facts.may_answer ? 1 : 0);
  page.single("millrace_log_reachable", "gauge", "0 while the shared log cannot be reached.",
              facts.problem.empty() ? 1 : 0);
  page.single("millrace_log_applied", "gauge",
              "The last message of the shared log that is applied here.", as_double(log.applied));
  page.single("millrace_log_cache_bytes", "gauge", "Size of the shared log on this disk.",
              as_double(log.cache_bytes));
  if (facts.since_takeover_seconds) {
    page.single("millrace_seconds_since_takeover", "gauge",
                "Since the lead was taken last, by this server or another one.",
                *facts.since_takeover_seconds);
  }
  if (!leads) return;
  page.single("millrace_nodes", "gauge",
              "Servers that share the log and were heard of lately, this one included.",
              as_double(facts.nodes));
  write_appends(log, page);
}

}  // namespace

void write_leadership(const LeadershipFacts& facts, std::string_view role, MetricsPage& page) {
  page.head("millrace_role", "gauge", "1 for what the server is: serving or standby.");
  page.sample("millrace_role", concat("role=\"", role, "\""), "1");
  page.single("millrace_leader_epoch", "gauge", "How often the lead was taken; 0: never.",
              as_double(facts.epoch));
  page.single("millrace_relayed_connections", "gauge",
              "Connections that a standby passes on to the leader.", as_double(facts.relayed));
  page.single("millrace_takeovers_total", "counter",
              "How often this process took the lead of a shared log.", as_double(facts.takeovers));
  if (facts.lag_seconds) {
    page.single("millrace_lag_seconds", "gauge",
                "A standby: age of the last entry of the log that it has applied.",
                *facts.lag_seconds);
  }
  if (role == "standby") {
    page.single("millrace_leader_out_of_reach", "gauge",
                "Ports of the leader to which this standby cannot pass clients on.",
                as_double(facts.out_of_reach.size()));
  }
  if (facts.log) write_log(facts, page);
}

Json show_leadership(const LeadershipFacts& facts, std::string_view role) {
  if (facts.node.empty()) return {{"role", role}};
  return {{"role", role},
          {"node", text_or_null(facts.node)},
          {"leader", text_or_null(facts.leader)},
          {"epoch", facts.epoch}};
}

std::optional<Response> answer_on_standby(const LeadershipFacts& facts, std::string_view path) {
  const bool is_about_leader = path == "/health/leader";
  if (path == "/metrics") {
    MetricsPage page;
    write_leadership(facts, "standby", page);
    return Response{.type = "text/plain; version=0.0.4", .body = page.take()};
  }
  if (path == kReportPath) return refuse(503, "another server leads");
  if (path != "/health" && !is_about_leader) return std::nullopt;
  Json shown = show_leadership(facts, "standby");
  shown["status"] = "standby";
  shown["lag_seconds"] = facts.lag_seconds ? Json(*facts.lag_seconds) : Json(nullptr);
  shown["relayed_connections"] = facts.relayed;
  if (!facts.out_of_reach.empty()) shown["leader_out_of_reach"] = facts.out_of_reach;
  return Response{.status = is_about_leader ? 503 : 200, .body = dump(shown)};
}

std::optional<Response> answer_without_lease(const LeadershipFacts& facts, std::string_view path) {
  if (facts.may_answer) return std::nullopt;
  // These tell of that themselves.
  constexpr std::array<std::string_view, 4> kOpen = {"/health", "/health/leader", "/metrics",
                                                     "/api/v1/cluster"};
  if (std::find(kOpen.begin(), kOpen.end(), path) != kOpen.end()) return std::nullopt;
  return refuse(503,
                "this server cannot reach the shared log, so what it knows may be old: ask "
                "again in a moment, or ask another server");
}

Response answer_without_log(std::string_view path) {
  if (path == "/health" || path == "/health/leader") {
    return {.status = 503, .body = dump({{"status", "without_log"}})};
  }
  return refuse(503, "this server has not reached the shared log yet: ask again in a moment");
}

Response redirect_to_leader(const Request& request, std::string_view address) {
  if (address.empty()) return refuse(503, "no server leads at present: ask again in a moment");
  Response response = refuse(307, "another server leads: go to the address in Location");
  response.headers["Location"] = concat("https://", address, request.target);
  response.headers["Cache-Control"] = "no-store";
  return response;
}

}  // namespace millrace::http
