#include "server/net/poller.hpp"

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// Notes how often it was served, and when among the others.
struct Served final : Pollee {
  void on_ready() override {
    ++times;
    if (then) then();
  }
  bool on_served_again() override {
    if (is_turned_away) return false;
    ++turns;
    if (then) then();
    return true;
  }

  bool is_turned_away = false;
  int times = 0;
  int turns = 0;
  std::function<void()> then;
};

struct Polling {
  Poller poller;
  /// More rounds than any of the tests needs.
  void run() {
    for (int i = 0; i < 200; ++i) poller.take(Duration{});
  }
  /// Handlers of sockets call these.
  void serve(Pollee& pollee) {
    asio::post(poller.context(), [this, &pollee] { poller.serve(pollee); });
  }
  void serve_first(Pollee& pollee) {
    asio::post(poller.context(), [this, &pollee] { poller.serve_first(pollee); });
  }
};

TEST_CASE("poller: one that has something is served once, however often it was told") {
  Polling polling;
  Served one;
  polling.serve(one);
  polling.serve(one);
  polling.serve_first(one);
  polling.poller.take(Duration{});
  CHECK(one.times == 1);
  polling.run();
  CHECK(one.times == 1);
  polling.serve(one);
  polling.run();
  CHECK(one.times == 2);
}

TEST_CASE("poller: a turn knows whether it serves few") {
  Polling polling;
  std::vector<Served> clients(Poller::kFew + 1);
  int few_turns = 0;
  int many_turns = 0;
  for (Served& client : clients) {
    client.then = [&] { ++(polling.poller.serves_few() ? few_turns : many_turns); };
  }
  for (std::size_t i = 0; i < Poller::kFew; ++i) polling.serve(clients[i]);
  polling.poller.take(Duration{});
  CHECK(few_turns == Poller::kFew);
  for (Served& client : clients) polling.serve(client);
  polling.poller.take(Duration{});
  CHECK(many_turns == Poller::kFew + 1);
}

TEST_CASE("poller: one that was forgotten in the same wait is not served") {
  Polling polling;
  Served a;
  Served b;
  a.then = [&] { polling.poller.forget(b); };
  b.then = [&] { polling.poller.forget(a); };
  polling.serve(a);
  polling.serve(b);
  polling.run();
  CHECK(a.times + b.times == 1);
}

TEST_CASE("poller: turns are given once, in order, and not to whom was forgotten") {
  Polling polling;
  Served a;
  Served b;
  Served c;
  a.then = [&] { polling.poller.forget(b); };
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
  Served greedy;
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
  Served served;
  Served waiting;
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

TEST_CASE("poller: handlers beyond those of one take run in the next") {
  Polling polling;
  std::vector<Served> all(300);
  for (Served& each : all) polling.serve(each);
  polling.poller.take(Duration{});
  const auto count =
      std::count_if(all.begin(), all.end(), [](const Served& each) { return each.times == 1; });
  CHECK(count == 256);
  polling.run();
  for (const Served& each : all) CHECK(each.times == 1);
}

TEST_CASE("poller: those that have closed are served first, whatever they were told before") {
  Polling polling;
  std::string order;
  Served asking;
  Served closing;
  asking.then = [&] { order += "asks "; };
  closing.then = [&] { order += "closes "; };
  polling.serve(asking);
  polling.serve(closing);
  polling.serve_first(closing);
  polling.run();
  CHECK(order == "closes asks ");
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

TEST_CASE("poller: a wait ends when its time is over, also after a longer one was planned") {
  Polling polling;
  const auto began = std::chrono::steady_clock::now();
  polling.poller.wake();
  polling.poller.take(1h);
  // The timer that was set for the hour ends the first of them.
  polling.poller.take(3ms);
  polling.poller.take(3ms);
  const auto took = std::chrono::steady_clock::now() - began;
  CHECK(took >= 3ms);
  CHECK(took < 1min);
}

}  // namespace
}  // namespace millrace::server
