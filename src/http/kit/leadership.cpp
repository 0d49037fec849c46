#include "http/kit/leadership.hpp"

#include <cstdio>

#include "base/text.hpp"
#include "http/kit/json.hpp"
#include "http/kit/text.hpp"

namespace millrace::http {
namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

std::string sample(std::string_view name, std::string_view kind, std::string_view help,
                   const std::string& value) {
  return concat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n", name, value, "\n");
}

/// As in an address.
std::string escaped(std::string_view text, std::string_view kept) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || kept.find(c) != kept.npos;
    if (is_plain) {
      out += c;
      continue;
    }
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    out += code;
  }
  return out;
}

std::string target_of(const Request& request) {
  std::string target = escaped(request.path, "-._~/:@");
  char before = '?';
  for (const auto& [name, value] : request.params) {
    target += concat(std::string(1, before), escaped(name, "-._~"), "=", escaped(value, "-._~"));
    before = '&';
  }
  return target;
}

}  // namespace

std::string write_leadership(const LeadershipFacts& facts, std::string_view role) {
  std::string text =
      sample("millrace_role", "gauge", "1 for what the server is: serving or standby.",
             concat("{role=\"", role, "\"} 1")) +
      sample("millrace_leader_epoch", "gauge", "How often the lead was taken; 0: never.",
             concat(" ", facts.epoch)) +
      sample("millrace_relayed_connections", "gauge",
             "Connections that a standby passes on to the leader.", concat(" ", facts.relayed)) +
      sample("millrace_takeovers_total", "counter",
             "How often this process took the lead of a shared log.", concat(" ", facts.takeovers));
  if (!facts.lag_seconds) return text;
  char lag[40];
  std::snprintf(lag, sizeof lag, " %.3f", *facts.lag_seconds);
  return text + sample("millrace_lag_seconds", "gauge",
                       "A standby: age of the last entry of the log that it has applied.", lag);
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
    return Response{.type = "text/plain; version=0.0.4",
                    .body = write_leadership(facts, "standby")};
  }
  if (path != "/health" && !is_about_leader) return std::nullopt;
  Json shown = show_leadership(facts, "standby");
  shown["status"] = "standby";
  shown["lag_seconds"] = facts.lag_seconds ? Json(*facts.lag_seconds) : Json(nullptr);
  shown["relayed_connections"] = facts.relayed;
  return Response{.status = is_about_leader ? 503 : 200, .body = dump(shown)};
}

std::optional<Response> answer_without_lease(const LeadershipFacts& facts, std::string_view path) {
  if (facts.may_answer) return std::nullopt;
  if (path == "/health" || path == "/health/leader" || path == "/metrics") return std::nullopt;
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
  response.headers["Location"] = concat("https://", address, target_of(request));
  response.headers["Cache-Control"] = "no-store";
  return response;
}

}  // namespace millrace::http
