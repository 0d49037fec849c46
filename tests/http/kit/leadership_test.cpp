#include "http/kit/leadership.hpp"

#include "http/asking.hpp"
#include "http/kit/node_report.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

const LeadershipFacts kStandby{
    .node = "b", .leader = "a", .epoch = 7, .lag_seconds = 0.25, .relayed = 3, .takeovers = 2};

TEST_CASE("leadership: a standby lives, and is not the one that serves") {
  const auto health = answer_on_standby(kStandby, "/health");
  REQUIRE(health);
  CHECK(health->status == 200);
  const Json shown = Json::parse(health->body);
  CHECK(shown == Json{{"role", "standby"},
                      {"node", "b"},
                      {"leader", "a"},
                      {"epoch", 7},
                      {"status", "standby"},
                      {"lag_seconds", 0.25},
                      {"relayed_connections", 3}});
  CHECK(answer_on_standby(kStandby, "/health/leader")->status == 503);
}

TEST_CASE("leadership: a standby tells which ports of the leader it cannot reach") {
  LeadershipFacts facts = kStandby;
  facts.out_of_reach = {"beanstalk", "web=127.0.0.1:7420"};
  CHECK(Json::parse(answer_on_standby(facts, "/health")->body)["leader_out_of_reach"] ==
        Json{"beanstalk", "web=127.0.0.1:7420"});
  CHECK(has_line(answer_on_standby(facts, "/metrics")->body, "millrace_leader_out_of_reach 2"));
  CHECK(has_line(answer_on_standby(kStandby, "/metrics")->body, "millrace_leader_out_of_reach 0"));
}

TEST_CASE("leadership: a standby passes no report of another node on") {
  CHECK(answer_on_standby(kStandby, kReportPath)->status == 503);
}

TEST_CASE("leadership: a standby shows its own metrics, and asks the leader for all else") {
  const std::string text = answer_on_standby(kStandby, "/metrics")->body;
  CHECK(text.find("\nmillrace_role{role=\"standby\"} 1\n") != text.npos);
  CHECK(text.find("\nmillrace_leader_epoch 7\n") != text.npos);
  CHECK(text.find("\nmillrace_lag_seconds 0.25\n") != text.npos);
  CHECK(text.find("\nmillrace_relayed_connections 3\n") != text.npos);
  CHECK(text.find("\nmillrace_takeovers_total 2\n") != text.npos);
  CHECK_FALSE(answer_on_standby(kStandby, "/"));
  CHECK_FALSE(answer_on_standby(kStandby, "/api/v1/overview"));
}

TEST_CASE("leadership: the leader of a shared log shows its appends and its lease") {
  SharedJournal::Figures log{.applied = 9, .lease = 1s, .lease_left = 500ms, .in_flight = 2};
  log.appends.add(1ms);
  log.unknown = 3;
  LeadershipFacts facts{.node = "a", .leader = "a", .epoch = 7, .log = log, .nodes = 3};
  facts.since_takeover_seconds = 60;
  MetricsPage page;
  write_leadership(facts, "serving", page);
  const std::string text = page.take();
  CHECK(has_line(text, "millrace_leading 1"));
  CHECK(has_line(text, "millrace_lease_seconds_left 0.5"));
  CHECK(has_line(text, "millrace_log_reachable 1"));
  CHECK(has_line(text, "millrace_log_applied 9"));
  CHECK(has_line(text, "millrace_log_in_flight 2"));
  CHECK(has_line(text, "millrace_log_unknown_total 3"));
  CHECK(has_line(text, "millrace_log_append_seconds_count 1"));
  CHECK(has_line(text, "millrace_nodes 3"));
  CHECK(has_line(text, "millrace_seconds_since_takeover 60"));
}

TEST_CASE("leadership: one without a lease does not lead, and one that follows neither") {
  LeadershipFacts facts{.node = "a", .may_answer = false};
  facts.log = SharedJournal::Figures{.lease_left = Duration{}};
  facts.problem = "no answer";
  MetricsPage page;
  write_leadership(facts, "serving", page);
  const std::string text = page.take();
  CHECK(has_line(text, "millrace_leading 0"));
  CHECK(has_line(text, "millrace_log_reachable 0"));
  facts = kStandby;
  facts.log = SharedJournal::Figures{.applied = 8};
  const std::string other = answer_on_standby(facts, "/metrics")->body;
  CHECK(has_line(other, "millrace_leading 0"));
  CHECK(has_line(other, "millrace_log_applied 8"));
  CHECK(other.find("append_seconds") == other.npos);
}

TEST_CASE("leadership: nobody leads") {
  const auto health = answer_on_standby({.node = "b"}, "/health");
  CHECK(Json::parse(health->body)["leader"] == nullptr);
}

TEST_CASE("leadership: a server that leads says so, while its lease holds") {
  WebFixture web;
  web.traffic.leadership = {.node = "a", .leader = "a", .epoch = 7};
  CHECK(web.read("/health")["role"] == "serving");
  CHECK(web.read("/health/leader")["epoch"] == 7);
  web.traffic.leadership.may_answer = false;
  CHECK(web.get("/health").status == 200);
  CHECK(web.get("/health/leader").status == 503);
}

TEST_CASE("leadership: a server with a log of its own is always the one that serves") {
  WebFixture web;
  CHECK(web.read("/health/leader")["role"] == "serving");
  CHECK_FALSE(web.read("/health").contains("node"));
}

TEST_CASE("leadership: a browser is sent to the same page of the leader") {
  Request request;
  request.target = "/queues/a%2Fb?state=dead&x%26=%C3%A4";
  const Response response = redirect_to_leader(request, "b.example:7420");
  CHECK(response.status == 307);
  CHECK(response.headers.at("Location") ==
        "https://b.example:7420/queues/a%2Fb?state=dead&x%26=%C3%A4");
  CHECK(redirect_to_leader(request, "").status == 503);
}

}  // namespace
TEST_CASE("leadership: a server without its lease answers for itself alone") {
  LeadershipFacts facts{.node = "a", .leader = "a", .epoch = 1};
  CHECK_FALSE(answer_without_lease(facts, "/api/v1/queues"));
  facts.may_answer = false;
  const auto refused = answer_without_lease(facts, "/api/v1/queues");
  REQUIRE(refused);
  CHECK(refused->status == 503);
  CHECK(refused->body.find("may be old") != std::string::npos);
  for (const char* own : {"/health", "/health/leader", "/metrics", "/api/v1/cluster"}) {
    CHECK_FALSE(answer_without_lease(facts, own));
  }
}

}  // namespace millrace::http
