
#include <string>

#include "server/cluster/node_reports.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

const Time kTaken{1000s};

/// `b` took the lead from `a` at `kTaken`.
http::ClusterFacts takeover(bool was_handed_over = false, const std::string& from = "a") {
  http::ClusterFacts facts;
  facts.nodes = {{.told = {.node = "b"}, .leads = true}};
  facts.takeovers = {
      {.at = kTaken, .from = from, .to = "b", .was_handed_over = was_handed_over, .gap = 1s}};
  return facts;
}

std::string names(http::ClusterFacts facts, Time now) {
  add_dead_leaders(facts, now);
  std::string all;
  for (const http::ClusterNode& each : facts.nodes) all += each.told.node;
  return all;
}

}  // namespace

TEST_CASE("dead leaders: one is listed for ten minutes, and silent since the takeover") {
  http::ClusterFacts facts = takeover();
  add_dead_leaders(facts, kTaken + 7s);
  REQUIRE(facts.nodes.size() == 2);
  CHECK(facts.nodes[1].told.node == "a");
  CHECK_FALSE(facts.nodes[1].leads);
  CHECK(facts.nodes[1].heard_seconds == 7);
  CHECK(names(takeover(), kTaken + 10min) == "ba");
  CHECK(names(takeover(), kTaken + 10min + 1ns) == "b");
}

TEST_CASE("dead leaders: one that handed over, or whose name is not known, is not listed") {
  CHECK(names(takeover(true), kTaken) == "b");
  CHECK(names(takeover(false, ""), kTaken) == "b");
}

TEST_CASE("dead leaders: one that was heard of since is listed as it tells") {
  http::ClusterFacts facts = takeover();
  facts.nodes.push_back({.told = {.node = "a", .version = "new"}});
  CHECK(names(facts, kTaken) == "ba");
  CHECK(names(takeover(false, "b"), kTaken) == "b");
}

TEST_CASE("dead leaders: one that died twice is listed once, as of its last death") {
  http::ClusterFacts facts = takeover();
  facts.takeovers.push_back({.at = kTaken + 60s, .from = "b", .to = "a", .was_handed_over = true});
  facts.takeovers.push_back({.at = kTaken + 90s, .from = "a", .to = "b"});
  add_dead_leaders(facts, kTaken + 100s);
  REQUIRE(facts.nodes.size() == 2);
  CHECK(facts.nodes[1].heard_seconds == 10);
}

TEST_CASE("dead leaders: a clock behind that of the new leader makes no negative time") {
  http::ClusterFacts facts = takeover();
  add_dead_leaders(facts, kTaken - 1s);
  CHECK(facts.nodes[1].heard_seconds == 0);
}

}  // namespace millrace::server
