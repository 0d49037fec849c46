#include "server/relay/relay.hpp"

#include "server/relay/relay_ends.hpp"

namespace millrace::server {
namespace {

struct Node {
  Poller poller;
  LeaderPort leader;
  Relay relay{poller, {.node = "a", .own_ports = "beanstalk=127.0.0.1:1"}};
  std::vector<End> clients;

  Node() {
    leader.listen();
    Ends ends = make_stream();
    relay.add("beanstalk", {.descriptor = dup(ends.ours.descriptor()), .peer = "", .is_unix = true},
              Time{1s});
    clients.push_back(std::move(ends.theirs));
  }
  [[nodiscard]] SharedJournal::Leader led_by(const std::string& node,
                                             const std::string& host) const {
    return {.epoch = Epoch{1},
            .node = node,
            .notes = "web=x:1 beanstalk=" + host + ":" + std::to_string(leader.port())};
  }
  /// Whether it is so after a while of nothing.
  bool stays(std::size_t relayed) {
    for (int i = 0; i < 20; ++i) {
      poller.take(1ms);
      relay.work(Time{1s});
    }
    return relay.relayed_count() == relayed;
  }
  bool reaches() {
    return comes(poller, [&] {
      relay.work(Time{1s});
      return relay.relayed_count() == 1;
    });
  }
};

TEST_CASE("relay: clients come to the leader that the log names") {
  Node node;
  CHECK(node.stays(0));
  node.relay.follow(node.led_by("b", "127.0.0.1"));
  CHECK(node.reaches());
}

TEST_CASE("relay: the leader may be named by a name") {
  Node node;
  node.relay.follow(node.led_by("b", "localhost"));
  CHECK(node.reaches());
}

TEST_CASE("relay: a server does not relay to itself") {
  Node node;
  node.relay.follow(node.led_by("a", "127.0.0.1"));
  CHECK(node.stays(0));
  auto same_address = node.led_by("b", "127.0.0.1");
  same_address.notes = "beanstalk=127.0.0.1:1";
  node.relay.follow(same_address);
  CHECK(node.stays(0));
  CHECK(node.relay.count() == 1);
}

TEST_CASE("relay: nobody is relayed to a leader that has released the lead") {
  Node node;
  auto released = node.led_by("b", "127.0.0.1");
  released.has_released = true;
  node.relay.follow(released);
  CHECK(node.stays(0));
}

TEST_CASE("relay: clients are cut off when another server leads") {
  Node node;
  node.relay.follow(node.led_by("b", "127.0.0.1"));
  REQUIRE(node.reaches());
  auto next = node.led_by("c", "127.0.0.1");
  next.epoch = Epoch{2};
  CHECK(node.relay.follow(next) == 1);
  CHECK(node.relay.count() == 0);
  CHECK(node.clients.front().receive() == "|");
}

TEST_CASE("relay: clients stay with a server that leads once more") {
  Node node;
  node.relay.follow(node.led_by("b", "127.0.0.1"));
  REQUIRE(node.reaches());
  auto again = node.led_by("b", "127.0.0.1");
  again.epoch = Epoch{2};
  CHECK(node.relay.follow(again) == 0);
  CHECK(node.stays(1));
  auto released = again;
  released.has_released = true;
  node.relay.follow(released);
  again.epoch = Epoch{3};
  node.relay.follow(again);
  CHECK(node.stays(1));
  CHECK(node.clients.front().receive().empty());
}

TEST_CASE("relay: clients are cut off when a server leads from another address") {
  Node node;
  node.relay.follow(node.led_by("b", "127.0.0.1"));
  REQUIRE(node.reaches());
  node.relay.follow(std::nullopt);
  auto moved = node.led_by("b", "127.0.0.1");
  moved.epoch = Epoch{2};
  moved.notes += " faktory=x:2";
  node.relay.follow(moved);
  CHECK(node.relay.count() == 0);
}

TEST_CASE(
    "relay: who comes when nobody has led for ten seconds is refused when it asks something") {
  Node node;
  node.relay.work(Time{1s});
  node.clients.front().send("put");
  node.relay.work(Time{1s} + kRelayWaitMax - 1ms);
  CHECK(node.clients.front().receive().empty());
  Ends ends = make_stream();
  node.relay.add("faktory",
                 {.descriptor = dup(ends.ours.descriptor()), .peer = "", .is_unix = true},
                 Time{1s} + kRelayWaitMax);
  node.relay.work(Time{1s} + kRelayWaitMax);
  CHECK(node.clients.front().receive() == "DRAINING\r\n|");
  CHECK(ends.theirs.receive() ==
        "-ERR no server leads the shared log at present, try again later\r\n");
}

TEST_CASE("relay: with a leader, clients wait again") {
  Node node;
  node.relay.work(Time{1s});
  node.relay.follow(node.led_by("b", "127.0.0.1"));
  node.relay.work(Time{2s});
  node.relay.follow(std::nullopt);
  node.clients.front().send("put");
  node.relay.work(Time{10s});
  node.relay.work(Time{10s} + 100ms);
  CHECK(node.relay.count() == 1);
}

}  // namespace
}  // namespace millrace::server
