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

TEST_CASE(
    "node reports: two servers of one name are noticed when each is heard of after the other") {
  NodeReports reports;
  CHECK_FALSE(reports.take({.node = "b", .instance = 1}, 1, kNow));
  CHECK_FALSE(reports.take({.node = "b", .instance = 2}, 1, kNow));
  CHECK_FALSE(reports.take({.node = "c", .instance = 3}, 1, kNow));
  CHECK(reports.take({.node = "b", .instance = 1}, 1, kNow + 1s));
  CHECK(reports.list(kNow + 6s)[0].has_namesake);
  CHECK_FALSE(reports.list(kNow + 6s)[1].has_namesake);
}

TEST_CASE("node reports: a name is that of one server again when the others are silent") {
  NodeReports reports;
  for (const std::uint64_t instance : {1, 2, 1}) {
    (void)reports.take({.node = "b", .instance = instance}, 1, kNow);
  }
  for (int second = 1; second <= 5; ++second) {
    CHECK(reports.take({.node = "b", .instance = 1}, 1, kNow + std::chrono::seconds(second)));
  }
  CHECK_FALSE(reports.take({.node = "b", .instance = 1}, 1, kNow + 5001ms));
  CHECK_FALSE(reports.list(kNow + 5001ms)[0].has_namesake);
}

TEST_CASE("node reports: a node that starts again and again is one node") {
  NodeReports reports;
  for (std::uint64_t instance = 1; instance < 100; ++instance) {
    CHECK_FALSE(reports.take({.node = "b", .instance = instance}, 1, kNow));
    CHECK_FALSE(reports.take({.node = "b", .instance = instance}, 1, kNow));
  }
}

TEST_CASE("node reports: of a server that tells no number, only a namesake that does is noticed") {
  NodeReports reports;
  CHECK_FALSE(reports.take({.node = "b"}, 1, kNow));
  CHECK_FALSE(reports.take({.node = "b"}, 1, kNow));
  CHECK_FALSE(reports.take({.node = "b", .instance = 1}, 1, kNow));
  CHECK(reports.take({.node = "b"}, 1, kNow));
}

TEST_CASE("node reports: as many servers of one name as are remembered are noticed") {
  for (const std::uint64_t count : {NodeReports::kInstancesMax, NodeReports::kInstancesMax + 1}) {
    NodeReports reports;
    bool is_noticed = false;
    for (std::uint64_t i = 0; i < 3 * count; ++i) {
      is_noticed = reports.take({.node = "b", .instance = i % count}, 1, kNow);
    }
    CHECK(is_noticed == (count <= NodeReports::kInstancesMax));
  }
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
