#include "server/background_thread.hpp"

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

TEST_CASE("background thread: what was not begun ends with it") {
  Poller poller;
  std::atomic<int> begun = 0;
  {
    BackgroundThread background(poller, [] {});
    background.start();
    std::atomic<bool> may_end = false;
    background.run(
        [&] {
          ++begun;
          while (!may_end) std::this_thread::yield();
        },
        [] { FAIL("nobody takes it"); });
    while (begun == 0) std::this_thread::yield();
    background.run([&] { ++begun; }, [] {});
    may_end = true;
  }
  CHECK(begun <= 2);
}

TEST_CASE("background thread: one that was not started ends too") {
  Poller poller;
  const BackgroundThread background(poller, [] {});
}

}  // namespace millrace::server
