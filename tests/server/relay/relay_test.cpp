#include "server/relay/relay.hpp"

#include "server/net/bound_socket.hpp"
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

/// Its port is open to other machines.
struct OpenNode : Node {
  OpenNode() {
    open.add("beanstalk", {.descriptor = dup(ends.ours.descriptor()), .peer = "", .is_unix = true},
             Time{1s});
  }
  bool work(Time now) {
    for (int i = 0; i < 20; ++i) {
      poller.take(1ms);
      open.work(now);
    }
    return open.relayed_count() == 1;
  }

  const Log log{[](std::string_view) {}};
  Outcome<BoundSocket> socket = BoundSocket::bind({.host = "0.0.0.0", .port = 0, .path = {}}, log);
  Ends ends = make_stream();
  Relay open{poller, {.node = "a", .own_ports = "beanstalk=n1:1", .listening = own_of()}};

  OwnPorts own_of() {
    OwnPorts ports;
    ports.add("beanstalk", socket->descriptor());
    return ports;
  }
};

TEST_CASE("relay: from an open port nobody is relayed to loopback, and this is told") {
  for (const char* host : {"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"}) {
    OpenNode node;
    node.open.follow(node.led_by("b", host));
    CHECK_FALSE_MESSAGE(node.work(Time{1s}), host);
    CHECK(node.open.leader_address("beanstalk").empty());
    const std::string address = std::string(host) + ":" + std::to_string(node.leader.port());
    CHECK(comes(node.poller, [&] {
      node.open.work(Time{1s});
      return node.open.out_of_reach() == std::vector<std::string>{"beanstalk=" + address};
    }));
    node.ends.theirs.send("put");
    node.work(Time{1s} + kRelayWaitMax);
    CHECK(node.ends.theirs.receive() == "DRAINING\r\n");
    // Who comes later does not wait.
    Ends late = make_stream();
    node.open.add("beanstalk",
                  {.descriptor = dup(late.ours.descriptor()), .peer = "", .is_unix = true},
                  Time{1s} + kRelayWaitMax);
    late.theirs.send("put");
    node.work(Time{1s} + kRelayWaitMax);
    CHECK(late.theirs.receive() == "DRAINING\r\n");
  }
}

TEST_CASE("relay: a port that the leader does not tell is out of reach") {
  Node node;
  auto leader = node.led_by("b", "127.0.0.1");
  leader.notes = "web=x:1";
  CHECK(node.relay.out_of_reach().empty());
  node.relay.follow(leader);
  CHECK(node.relay.out_of_reach() == std::vector<std::string>{"beanstalk"});
  node.relay.follow(std::nullopt);
  CHECK(node.relay.out_of_reach().empty());
}

TEST_CASE("relay: nobody is relayed to one that holds the log") {
  Node node;
  auto holder = node.led_by("b", "127.0.0.1");
  holder.holds = true;
  node.relay.follow(holder);
  CHECK(node.stays(0));
  CHECK(node.relay.out_of_reach().empty());
}

TEST_CASE("relay: a connection of ours that comes back to us is closed, and its client with it") {
  Node node;
  node.relay.follow(node.led_by("b", "127.0.0.1"));
  REQUIRE(node.reaches());
  const int came_back = dup(node.leader.accept().descriptor());
  node.relay.add("web", {.descriptor = came_back, .peer = "", .is_unix = false}, Time{1s});
  CHECK(comes(node.poller, [&] {
    node.relay.work(Time{1s});
    return node.relay.count() == 0;
  }));
  CHECK(node.clients.front().receive() == "|");
  CHECK(node.relay.out_of_reach().size() == 1);
  // The address may be another machine's later.
  node.relay.work(Time{1s} + kLoopRetry);
  node.relay.work(Time{1s} + kLoopRetry);
  CHECK(node.relay.out_of_reach().empty());
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
