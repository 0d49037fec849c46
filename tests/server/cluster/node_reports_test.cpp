#include "server/cluster/node_reports.hpp"

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

const Time kNow{1000s};

}  // namespace

TEST_CASE("node reports: how far a node is behind when it tells of itself") {
  NodeReports reports;
  reports.take({.node = "b", .applied = 97}, 100, kNow);
  const auto nodes = reports.list(kNow + 2s);
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0].lag_messages == 3);
  CHECK(nodes[0].heard_seconds == 2);
}

TEST_CASE("node reports: a node that has seen more than the leader is not behind") {
  NodeReports reports;
  reports.take({.node = "b", .applied = 101}, 100, kNow);
  CHECK(reports.list(kNow)[0].lag_messages == 0);
}

TEST_CASE("node reports: the last one of each node, by name") {
  NodeReports reports;
  reports.take({.node = "c"}, 1, kNow);
  reports.take({.node = "b", .version = "old"}, 1, kNow);
  reports.take({.node = "b", .version = "new"}, 1, kNow);
  const auto nodes = reports.list(kNow);
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].told.version == "new");
  CHECK(nodes[1].told.node == "c");
}

TEST_CASE("node reports: a silent node is not counted, and later forgotten") {
  NodeReports reports;
  reports.take({.node = "b"}, 1, kNow);
  CHECK(reports.count(kNow + 5s) == 1);
  CHECK(reports.count(kNow + 6s) == 0);
  CHECK(reports.list(kNow + NodeReports::kForgottenAfter).size() == 1);
  CHECK(reports.list(kNow + NodeReports::kForgottenAfter + 1s).empty());
}

TEST_CASE("node reports: no more nodes are noted than there is room for") {
  NodeReports reports;
  for (std::size_t i = 0; i <= NodeReports::kNodesMax; ++i) {
    reports.take({.node = std::to_string(i)}, 1, kNow);
  }
  CHECK(reports.list(kNow).size() == NodeReports::kNodesMax);
}

}  // namespace millrace::server
