#include "http/asking.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

/// A cluster of two nodes, as `a` sees it, which leads.
ClusterFacts two_nodes(Time now) {
  SharedJournal::Figures log{.applied = 100, .lease = 1s, .lease_left = 750ms, .in_flight = 2};
  log.last_append = 3ms;
  ClusterFacts facts{
      .leadership = {.node = "a", .leader = "a", .epoch = 2, .log = log},
      .log_url = "nats://n1:4222,n2:4222/jobs",
      .nodes = {{.told = {.node = "a", .version = "0.1", .applied = 100}, .leads = true},
                {.told = {.node = "b",
                          .version = "0.2",
                          .ports = "faktory=b:7419 web=b:7420",
                          .applied = 97,
                          .lag_seconds = 0.25},
                 .lag_messages = 3,
                 .heard_seconds = 0.5}},
      .takeovers = {}};
  facts.takeovers.push_back({.epoch = Epoch{1}, .at = now - 1h, .from = {}, .to = "b", .gap = {}});
  facts.takeovers.push_back({.epoch = Epoch{2}, .at = now, .from = "b", .to = "a", .gap = 1250ms});
  return facts;
}

}  // namespace

TEST_CASE("cluster: there is none without a shared log") {
  WebFixture web;
  CHECK(web.read("/api/v1/cluster") == Json{{"cluster", nullptr}});
}

TEST_CASE("cluster: nodes with role, version, addresses and lag") {
  WebFixture web;
  web.cluster = two_nodes(web.now);
  const Json nodes = web.read("/api/v1/cluster")["cluster"]["nodes"];
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0]["role"] == "leader");
  CHECK(nodes[0]["lag_seconds"] == nullptr);
  CHECK(nodes[1] == Json{{"node", "b"},
                         {"role", "standby"},
                         {"version", "0.2"},
                         {"addresses", {{"faktory", "b:7419"}, {"web", "b:7420"}}},
                         {"applied", 97},
                         {"lag_messages", 3},
                         {"lag_seconds", 0.25},
                         {"heard_seconds", 0.5},
                         {"is_silent", false},
                         {"has_namesake", false},
                         {"problem", nullptr}});
}

TEST_CASE("cluster: a node that tells nothing any more is silent") {
  WebFixture web;
  web.cluster = two_nodes(web.now);
  web.cluster.nodes[1].heard_seconds = 5.5;
  CHECK(web.read("/api/v1/cluster")["cluster"]["nodes"][1]["is_silent"] == true);
}

TEST_CASE("cluster: a node whose name another server has as well is marked") {
  WebFixture web;
  web.cluster = two_nodes(web.now);
  web.cluster.nodes[1].has_namesake = true;
  CHECK(web.read("/api/v1/cluster")["cluster"]["nodes"][1]["has_namesake"] == true);
}

TEST_CASE("cluster: the ports of the leader that a node cannot reach") {
  WebFixture web;
  web.cluster = two_nodes(web.now);
  web.cluster.nodes[1].told.out_of_reach = "beanstalk web=127.0.0.1:7420";
  CHECK(web.read("/api/v1/cluster")["cluster"]["nodes"][1]["out_of_reach"] ==
        Json{"beanstalk", "web=127.0.0.1:7420"});
}

TEST_CASE("cluster: a port on loopback is shown like others") {
  WebFixture web;
  web.cluster = two_nodes(web.now);
  web.cluster.nodes[1].told.ports = "local-web=127.0.0.1:7420 faktory=b:1 loopback=17 reports=2";
  CHECK(web.read("/api/v1/cluster")["cluster"]["nodes"][1]["addresses"] ==
        Json{{"web", "127.0.0.1:7420"}, {"faktory", "b:1"}});
}

TEST_CASE("cluster: the lease and the engine") {
  WebFixture web;
  web.cluster = two_nodes(web.now);
  Json shown = web.read("/api/v1/cluster")["cluster"];
  CHECK(shown["lease"] == Json{{"seconds", 1.0}, {"left_seconds", 0.75}});
  CHECK(shown["engine"]["kind"] == "nats");
  CHECK(shown["engine"]["url"] == "nats://n1:4222,n2:4222/jobs");
  CHECK(shown["engine"]["is_reachable"] == true);
  CHECK(shown["engine"]["last_append_seconds"] == 0.003);
  web.cluster.leadership.problem = "connection refused";
  web.cluster.log_url = "postgresql://db/jobs";
  shown = web.read("/api/v1/cluster")["cluster"];
  CHECK(shown["engine"]["kind"] == "postgresql");
  CHECK(shown["engine"]["is_reachable"] == false);
  CHECK(shown["engine"]["problem"] == "connection refused");
}

TEST_CASE("cluster: the last takeovers, newest first, and why they were") {
  WebFixture web;
  web.cluster = two_nodes(web.now);
  web.cluster.takeovers.push_back({.epoch = Epoch{3},
                                   .at = web.now,
                                   .from = "a",
                                   .to = "b",
                                   .was_handed_over = true,
                                   .gap = 20ms});
  const Json takeovers = web.read("/api/v1/cluster")["cluster"]["takeovers"];
  REQUIRE(takeovers.size() == 3);
  CHECK(takeovers[0]["cause"] == "handed_over");
  CHECK(takeovers[0]["gap_seconds"] == 0.02);
  CHECK(takeovers[1]["cause"] == "lease_over");
  CHECK(takeovers[1]["from"] == "b");
  CHECK(takeovers[1]["to"] == "a");
  CHECK(takeovers[2]["cause"] == "first");
  CHECK(takeovers[2]["from"] == nullptr);
}

}  // namespace millrace::http
