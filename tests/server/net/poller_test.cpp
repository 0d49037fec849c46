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

struct Polling {
  Poller poller;
  /// More rounds than any of the tests needs.
  void run() {
    for (int i = 0; i < 200; ++i) poller.take(Duration{});
  }
};

TEST_CASE("poller: handlers beyond those of one take run in the next") {
  Polling polling;
  int handled = 0;
  for (int i = 0; i < 300; ++i) asio::post(polling.poller.context(), [&] { ++handled; });
  polling.poller.take(Duration{});
  CHECK(handled == 256);
  polling.run();
  CHECK(handled == 300);
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
