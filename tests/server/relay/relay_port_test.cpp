#include "server/relay/relay_port.hpp"

#include <vector>

#include "server/relay/relay_ends.hpp"

namespace millrace::server {
namespace {

/// A client of `port`.
End connect_to(RelayPort& port, Time now) {
  Ends ends = make_stream();
  port.add({.descriptor = dup(ends.ours.descriptor()), .peer = "here", .is_unix = true}, now);
  return std::move(ends.theirs);
}

struct Relaying {
  Poller poller;
  RelayRoom room{};
  RelayPort port{poller, room, {.text = "NO\r\n"}};
  LeaderPort leader;
  Time now{1s};

  /// A client of the port.
  End connect() { return connect_to(port, now); }
  bool comes(const std::function<bool()>& is_so) {
    return server::comes(poller, [&] {
      port.work(now);
      return is_so();
    });
  }
  bool reaches(std::size_t count) {
    return comes([&] { return port.relayed_count() == count; });
  }
  bool arrives(const End& end, const std::string& text) {
    std::string all;
    return comes([&] { return (all += end.receive()) == text; });
  }
};

TEST_CASE("relay port: a client and the leader talk") {
  Relaying relaying;
  relaying.leader.listen();
  relaying.port.set_leader(relaying.leader.name());
  const End client = relaying.connect();
  client.send("list-tubes\r\n");
  REQUIRE(relaying.reaches(1));
  const End leader = relaying.leader.accept();
  CHECK(relaying.arrives(leader, "list-tubes\r\n"));
  leader.send("OK 0\r\n");
  CHECK(relaying.arrives(client, "OK 0\r\n"));
}

TEST_CASE("relay port: a client that has ended its side gets its answers") {
  Relaying relaying;
  relaying.leader.listen();
  relaying.port.set_leader(relaying.leader.name());
  const End client = relaying.connect();
  client.send("stats\r\n");
  client.finish();
  REQUIRE(relaying.reaches(1));
  End leader = relaying.leader.accept();
  CHECK(relaying.arrives(leader, "stats\r\n|"));
  leader.send("OK 0\r\n");
  CHECK(relaying.arrives(client, "OK 0\r\n"));
  leader.close();
  CHECK(relaying.arrives(client, "|"));
  CHECK(relaying.reaches(0));
}

TEST_CASE("relay port: a client that leaves is gone for the leader") {
  Relaying relaying;
  relaying.leader.listen();
  relaying.port.set_leader(relaying.leader.name());
  End client = relaying.connect();
  REQUIRE(relaying.reaches(1));
  const End leader = relaying.leader.accept();
  client.close();
  CHECK(relaying.arrives(leader, "|"));
}

TEST_CASE("relay port: clients of a leader that vanishes are closed, with its last words") {
  Relaying relaying;
  relaying.leader.listen();
  relaying.port.set_leader(relaying.leader.name());
  const End client = relaying.connect();
  REQUIRE(relaying.reaches(1));
  {
    const End leader = relaying.leader.accept();
    leader.send("INSERTED 1\r\n");
  }
  CHECK(relaying.arrives(client, "INSERTED 1\r\n|"));
  CHECK(relaying.comes([&] { return relaying.port.count() == 0; }));
}

TEST_CASE("relay port: clients wait for a leader, and all reach it when it is named") {
  Relaying relaying;
  const End first = relaying.connect();
  const End second = relaying.connect();
  first.send("a");
  second.send("b");
  CHECK(relaying.comes([&] { return relaying.port.count() == 2; }));
  CHECK(relaying.port.relayed_count() == 0);
  relaying.leader.listen();
  relaying.port.set_leader(relaying.leader.name());
  CHECK(relaying.reaches(2));
}

TEST_CASE("relay port: a leader that refuses is tried again, and then all follow") {
  Relaying relaying;
  relaying.port.set_leader(relaying.leader.name());
  const End first = relaying.connect();
  const End second = relaying.connect();
  relaying.poller.take(10ms);
  relaying.port.work(relaying.now);
  CHECK(relaying.port.relayed_count() == 0);
  relaying.leader.listen();
  relaying.now += kRelayRetry;
  CHECK(relaying.reaches(2));
}

TEST_CASE("relay port: clients that were connecting to one leader reach the next one") {
  Relaying relaying;
  relaying.leader.listen();
  const LeaderPort next;
  relaying.port.set_leader(relaying.leader.name());
  const End client = relaying.connect();
  relaying.port.set_leader(next.name());
  relaying.port.work(relaying.now);
  for (int i = 0; i < 10; ++i) relaying.poller.take(1ms);
  CHECK(relaying.port.relayed_count() == 0);
  next.listen();
  relaying.now += kRelayRetry;
  REQUIRE(relaying.reaches(1));
  client.send("a");
  CHECK(relaying.arrives(next.accept(), "a"));
}

TEST_CASE("relay port: a client that leaves while it waits is forgotten") {
  Relaying relaying;
  End client = relaying.connect();
  client.send("unread");
  client.close();
  CHECK(relaying.comes([&] { return relaying.port.count() == 0; }));
}

TEST_CASE("relay port: a client whose connection breaks while it waits is forgotten") {
  Relaying relaying;
  relaying.leader.listen();
  const SocketName name = relaying.leader.name();
  End client(socket(AF_INET, SOCK_STREAM, 0));
  (void)connect(client.descriptor(), reinterpret_cast<const sockaddr*>(&name.storage), name.size);
  relaying.port.add(
      {.descriptor = dup(relaying.leader.accept().descriptor()), .peer = "", .is_unix = false},
      relaying.now);
  client.send("unread");
  for (int i = 0; i < 10; ++i) relaying.poller.take(1ms);
  CHECK(relaying.port.count() == 1);
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(client.descriptor(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  client.close();
  CHECK(relaying.comes([&] { return relaying.port.count() == 0; }));
}

TEST_CASE("relay port: what its connections wait for may come after its end") {
  Relaying relaying;
  relaying.leader.listen();
  std::vector<End> clients;
  {
    RelayPort port(relaying.poller, relaying.room, {.text = "NO\r\n"});
    const auto add = [&] { clients.push_back(connect_to(port, relaying.now)); };
    add();
    port.set_leader(relaying.leader.name());
    port.work(relaying.now);
    REQUIRE(comes(relaying.poller, [&] { return port.relayed_count() == 1; }));
    add();
    CHECK(port.count() == 2);
    clients[0].send("a");
  }
  for (int i = 0; i < 10; ++i) relaying.poller.take(1ms);
  CHECK_FALSE(clients[0].receive().empty());
  CHECK(clients[1].receive() == "|");
}

TEST_CASE("relay port: a client waits for ten seconds, and no longer") {
  Relaying relaying;
  const End client = relaying.connect();
  relaying.now += kRelayWaitMax - 1ms;
  relaying.port.work(relaying.now);
  CHECK(client.receive().empty());
  relaying.now += 1ms;
  relaying.port.work(relaying.now);
  CHECK(client.receive() == "|");
  CHECK(relaying.port.count() == 0);
}

TEST_CASE("relay port: a client that has asked something is told that it is refused") {
  Relaying relaying;
  const End client = relaying.connect();
  client.send("put 0 0 1 1\r\nx\r\n");
  relaying.now += kRelayWaitMax;
  relaying.port.work(relaying.now);
  CHECK(client.receive() == "NO\r\n|");
}

TEST_CASE("relay port: without hope, who asks something is refused at once, and others wait") {
  Relaying relaying;
  const End client = relaying.connect();
  relaying.port.work(relaying.now, true);
  CHECK(client.receive().empty());
  client.send("put");
  relaying.port.work(relaying.now, true);
  CHECK(client.receive() == "NO\r\n|");
  CHECK(relaying.port.count() == 0);
}

TEST_CASE("relay port: where the server speaks first, a client without hope is refused at once") {
  Relaying relaying;
  RelayPort port(relaying.poller, relaying.room, {.text = "NO\r\n", .is_greeting = true});
  Ends ends = make_stream();
  port.add({.descriptor = dup(ends.ours.descriptor()), .peer = "", .is_unix = true}, relaying.now);
  port.work(relaying.now, true);
  CHECK(ends.theirs.receive() == "NO\r\n");
  CHECK(port.count() == 0);
}

TEST_CASE("relay port: a client that speaks TLS is closed without a word") {
  Relaying relaying;
  RelayPort port(relaying.poller, relaying.room, {.text = "NO\r\n", .is_greeting = true});
  Ends ends = make_stream();
  port.add({.descriptor = dup(ends.ours.descriptor()),
            .peer = "",
            .is_unix = false,
            .is_encrypted = true},
           relaying.now);
  ends.ours.close();
  ends.theirs.send("hello");
  port.work(relaying.now, true);
  CHECK(ends.theirs.receive().find("NO") == std::string::npos);
  CHECK(port.count() == 0);
}

TEST_CASE("relay port: one client more than the limit is refused") {
  Relaying relaying;
  relaying.leader.listen();
  RelayPort port(relaying.poller, relaying.room, {.text = "NO\r\n", .is_greeting = true}, 2);
  port.set_leader(relaying.leader.name());
  std::vector<End> clients;
  const auto connect = [&] { clients.push_back(connect_to(port, relaying.now)); };
  connect();
  CHECK(comes(relaying.poller, [&] { return port.relayed_count() == 1; }));
  connect();
  connect();
  CHECK(clients[2].receive() == "NO\r\n|");
  CHECK(comes(relaying.poller, [&] { return port.relayed_count() == 2; }));
  CHECK(clients[1].receive().empty());
  clients[0].close();
  relaying.leader.accept().close();
  CHECK(comes(relaying.poller, [&] { return port.count() == 1; }));
  connect();
  CHECK(comes(relaying.poller, [&] { return port.relayed_count() == 2; }));
}

TEST_CASE("relay port: a client that has left is over soon, though the leader does not answer") {
  Relaying relaying;
  relaying.leader.listen();
  relaying.port.set_leader(relaying.leader.name());
  const End stays = relaying.connect();
  End leaves = relaying.connect();
  REQUIRE(relaying.reaches(2));
  leaves.close();
  for (int i = 0; i < 20; ++i) relaying.poller.take(1ms);
  relaying.port.work(relaying.now += 1s);
  relaying.port.work(relaying.now += kRelayEndMax - 1ms);
  CHECK(relaying.port.relayed_count() == 2);
  relaying.port.work(relaying.now += 1s);
  CHECK(relaying.port.relayed_count() == 1);
  relaying.port.work(relaying.now += 2 * kRelayEndMax);
  CHECK(relaying.port.relayed_count() == 1);
  CHECK(stays.receive().empty());
}

TEST_CASE("relay port: a client that has ended its side gets answers that take long") {
  Relaying relaying;
  relaying.leader.listen();
  relaying.port.set_leader(relaying.leader.name());
  const End client = relaying.connect();
  client.send("stats\r\n");
  client.finish();
  REQUIRE(relaying.reaches(1));
  const End leader = relaying.leader.accept();
  CHECK(relaying.arrives(leader, "stats\r\n|"));
  for (int i = 0; i < 3; ++i) {
    relaying.port.work(relaying.now += kRelayEndMax - 1s);
    leader.send("x");
    CHECK(relaying.arrives(client, "x"));
  }
  CHECK(relaying.port.relayed_count() == 1);
}

TEST_CASE("relay port: clients that waited are given back with everything unread") {
  Relaying relaying;
  const End client = relaying.connect();
  client.send("stats\r\n");
  relaying.poller.take(10ms);
  const std::vector<Listener::Accepted> given = relaying.port.give_back();
  REQUIRE(given.size() == 1);
  CHECK(given.front().peer == "here");
  const End own(given.front().descriptor);
  CHECK(own.receive() == "stats\r\n");
  CHECK(relaying.port.count() == 0);
}

TEST_CASE("relay port: clients of another leader are cut off") {
  Relaying relaying;
  relaying.leader.listen();
  relaying.port.set_leader(relaying.leader.name());
  const End client = relaying.connect();
  REQUIRE(relaying.reaches(1));
  relaying.port.drop_relayed();
  CHECK(client.receive() == "|");
}

TEST_CASE("relay port: a client that does not read holds the leader up, and loses nothing") {
  Relaying relaying;
  relaying.leader.listen();
  relaying.port.set_leader(relaying.leader.name());
  const End client = relaying.connect();
  REQUIRE(relaying.reaches(1));
  const End leader = relaying.leader.accept();
  std::string much(64 << 20, 'x');
  for (std::size_t i = 0; i < much.size(); i += 1000) much[i] = static_cast<char>('a' + i % 26);
  std::size_t sent = 0;
  int refused = 0;
  while (refused < 20 && sent < much.size()) {
    const std::size_t now = leader.send(std::string_view(much).substr(sent));
    sent += now;
    now == 0 ? ++refused : refused = 0;
    relaying.poller.take(1ms);
  }
  CHECK(sent < much.size());
  std::string taken;
  CHECK(relaying.comes([&] { return (taken += client.receive()).size() == sent; }));
  CHECK(taken == much.substr(0, sent));
}

}  // namespace
}  // namespace millrace::server
