#include "server/background_thread.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("background thread: works in another thread, and tells the loop's, in order") {
  Poller poller;
  int told = 0;
  BackgroundThread background(poller, [&told] { ++told; });
  background.start();
  const std::thread::id here = std::this_thread::get_id();
  std::vector<int> ended;
  for (int i = 0; i < 3; ++i) {
    background.run([&] { CHECK(std::this_thread::get_id() != here); },
                   [&, i] {
                     CHECK(std::this_thread::get_id() == here);
                     ended.push_back(i);
                   });
  }
  while (ended.size() < 3) poller.take(1s);
  CHECK(ended == std::vector{0, 1, 2});
  CHECK(told == 3);
}

TEST_CASE("background thread: its end waits for the work at hand, and nobody is told") {
  Poller poller;
  std::atomic<bool> has_begun = false;
  std::atomic<bool> may_end = false;
  bool has_ended = false;
  {
    BackgroundThread background(poller, [] { FAIL("nobody is told"); });
    background.start();
    background.run(
        [&] {
          has_begun = true;
          while (!may_end) std::this_thread::yield();
          has_ended = true;
        },
        [] { FAIL("nobody takes it"); });
    while (!has_begun) std::this_thread::yield();
    background.run([] {}, [] { FAIL("nobody takes it"); });
    may_end = true;
  }
  CHECK(has_ended);
}

TEST_CASE("background thread: one that was not started ends too") {
  Poller poller;
  const BackgroundThread background(poller, [] {});
}

}  // namespace millrace::server
