#include "server/net/poller.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// One end of a pair of sockets; the test holds the other.
struct Watched final : Pollee {
  Watched() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    own = ends[0];
    other = ends[1];
  }
  ~Watched() override {
    ::close(own);
    close_other();
  }

  void on_events(SocketEvents events) override {
    told.push_back(events);
    if (then) then();
  }
  bool on_served_again() override {
    if (is_turned_away) return false;
    ++turns;
    if (then) then();
    return true;
  }

  void say(const std::string& text) const {
    REQUIRE(::send(other, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  }
  void close_other() {
    if (other >= 0) ::close(std::exchange(other, -1));
  }

  bool is_turned_away = false;
  int own = -1;
  int other = -1;
  std::vector<SocketEvents> told;
  int turns = 0;
  std::function<void()> then;
};

struct Polling {
  Poller poller;
  /// More rounds than any of the tests needs.
  void run() {
    for (int i = 0; i < 200; ++i) poller.take(Duration{});
  }
};

TEST_CASE("poller: what was there before is told, what is left lying is not told again") {
  Polling polling;
  Watched watched;
  watched.say("one");
  REQUIRE(polling.poller.watch(watched.own, watched));
  polling.run();
  REQUIRE(watched.told.size() == 1);
  CHECK(watched.told[0].is_readable);
  CHECK_FALSE(watched.told[0].is_over);
  polling.run();
  CHECK(watched.told.size() == 1);
  watched.say("two");
  polling.run();
  CHECK(watched.told.size() == 2);
}

TEST_CASE("poller: a turn knows whether it serves few") {
  Polling polling;
  std::vector<Watched> clients(Poller::kFew + 1);
  int few_turns = 0;
  int many_turns = 0;
  for (Watched& client : clients) {
    client.then = [&] { ++(polling.poller.serves_few() ? few_turns : many_turns); };
    REQUIRE(polling.poller.watch(client.own, client));
  }
  polling.run();
  few_turns = many_turns = 0;
  for (std::size_t i = 0; i < Poller::kFew; ++i) clients[i].say("x");
  polling.poller.take(Duration{});
  CHECK(few_turns == Poller::kFew);
  for (Watched& client : clients) client.say("x");
  polling.poller.take(Duration{});
  CHECK(many_turns == Poller::kFew + 1);
  for (Watched& client : clients) polling.poller.forget(client.own, client);
}

TEST_CASE("poller: the end of what a client sends, and the end of the client") {
  Polling polling;
  Watched watched;
  REQUIRE(polling.poller.watch(watched.own, watched));
  ::shutdown(watched.other, SHUT_WR);
  polling.run();
  REQUIRE_FALSE(watched.told.empty());
  CHECK(watched.told.back().is_over);
  CHECK_FALSE(watched.told.back().is_broken);
  watched.close_other();
  polling.run();
  CHECK(watched.told.back().is_broken);
}

TEST_CASE("poller: room is told when there was none") {
  Polling polling;
  Watched watched;
  REQUIRE(polling.poller.watch(watched.own, watched));
  const std::string bytes(65536, 'x');
  while (::send(watched.own, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
  polling.run();
  watched.told.clear();
  std::string taken(bytes.size(), '\0');
  while (::recv(watched.other, taken.data(), taken.size(), MSG_DONTWAIT) > 0) {
  }
  polling.run();
  REQUIRE_FALSE(watched.told.empty());
  CHECK(watched.told.back().is_writable);
}

TEST_CASE("poller: one that was forgotten in the same wait is told nothing") {
  Polling polling;
  Watched a;
  Watched b;
  a.then = [&] { polling.poller.forget(b.own, b); };
  b.then = [&] { polling.poller.forget(a.own, a); };
  for (Watched* each : {&a, &b}) {
    each->say("x");
    REQUIRE(polling.poller.watch(each->own, *each));
  }
  polling.run();
  CHECK(a.told.size() + b.told.size() == 1);
}

TEST_CASE("poller: one that was forgotten may keep the socket, and is told nothing") {
  Polling polling;
  Watched watched;
  REQUIRE(polling.poller.watch(watched.own, watched));
  polling.run();
  watched.told.clear();
  polling.poller.forget(watched.own, watched);
  watched.say("x");
  watched.close_other();
  polling.run();
  CHECK(watched.told.empty());
}

TEST_CASE("poller: turns are given once, in order, and not to whom was forgotten") {
  Polling polling;
  Watched a;
  Watched b;
  Watched c;
  a.then = [&] { polling.poller.forget(b.own, b); };
  polling.poller.serve_again(a);
  polling.poller.serve_again(b);
  polling.poller.serve_again(c);
  polling.poller.serve_again(a);
  polling.run();
  CHECK(a.turns == 1);
  CHECK(b.turns == 0);
  CHECK(c.turns == 1);
}

TEST_CASE("poller: one that asks for a turn in its turn lets others run first") {
  Polling polling;
  Watched greedy;
  greedy.then = [&] {
    if (greedy.turns < 100) polling.poller.serve_again(greedy);
  };
  int turns_before = -1;
  polling.poller.serve_again(greedy);
  polling.poller.post([&] { turns_before = greedy.turns; });
  polling.run();
  CHECK(turns_before == 1);
  CHECK(greedy.turns == 100);
}

TEST_CASE("poller: one that was not served in its turn comes before those that were") {
  Polling polling;
  Watched served;
  Watched waiting;
  std::string order;
  served.then = [&] {
    order += 's';
    if (served.turns == 1) polling.poller.serve_again(served);
  };
  waiting.then = [&] { order += 'w'; };
  waiting.is_turned_away = true;
  polling.poller.serve_again(served);
  polling.poller.serve_again(waiting);
  polling.poller.post([&] { waiting.is_turned_away = false; });
  polling.run();
  CHECK(order == "sws");
}

TEST_CASE("poller: more sockets at once than it looks at in one go") {
  Polling polling;
  std::vector<std::unique_ptr<Watched>> all;
  for (int i = 0; i < 300; ++i) {
    all.push_back(std::make_unique<Watched>());
    all.back()->say("x");
    REQUIRE(polling.poller.watch(all.back()->own, *all.back()));
  }
  polling.run();
  for (const auto& each : all) CHECK(each->told.size() == 1);
}

TEST_CASE("poller: those that have closed are told of first") {
  Polling polling;
  std::string order;
  Watched asking;
  Watched closing;
  asking.then = [&] { order += "asks "; };
  closing.then = [&] { order += "closes "; };
  REQUIRE(polling.poller.watch(asking.own, asking));
  REQUIRE(polling.poller.watch(closing.own, closing));
  polling.run();
  order.clear();
  asking.say("stats");
  closing.close_other();
  polling.run();
  CHECK(order == "closes asks ");
}

TEST_CASE("poller: with `always`, what is left lying is told again") {
  Polling polling;
  Watched watched;
  REQUIRE(polling.poller.watch(watched.own, watched, Poller::Trigger::kAlways));
  watched.say("x");
  polling.poller.take(Duration{});
  polling.poller.take(Duration{});
  CHECK(watched.told.size() == 2);
}

TEST_CASE("poller: what another thread posts ends a wait, and is called in order") {
  Polling polling;
  std::string order;
  std::thread other([&] {
    polling.poller.post([&] { order += "a"; });
    polling.poller.post([&] { order += "b"; });
  });
  while (order != "ab") polling.poller.take(1h);
  other.join();
  CHECK(order == "ab");
}

TEST_CASE("poller: a wait that another thread ended may be ended again") {
  Polling polling;
  for (int i = 0; i < 3; ++i) {
    std::thread other([&] { polling.poller.wake(); });
    polling.poller.take(1h);
    other.join();
  }
}

TEST_CASE("poller: a wait ends when its time is over") {
  Polling polling;
  const auto began = std::chrono::steady_clock::now();
  polling.poller.take(3ms);
  CHECK(std::chrono::steady_clock::now() - began >= 3ms);
}

}  // namespace
}  // namespace millrace::server
