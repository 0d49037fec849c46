#include "server/system/signals.hpp"

#include <csignal>
#include <thread>
#include <vector>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// Signals that nobody else uses here.
struct ToldSignals {
  Poller poller;
  std::vector<int> told;
  Signals signals{{SIGUSR1, SIGUSR2}};
  SignalWatch watch{poller, signals, [this](int number) { told.push_back(number); }};
};

}  // namespace

TEST_CASE("signals: are told by the next wait, in their order") {
  ToldSignals told;
  REQUIRE(std::raise(SIGUSR2) == 0);
  REQUIRE(std::raise(SIGUSR1) == 0);
  CHECK(told.told.empty());
  told.poller.take(Duration{});
  CHECK(told.told == std::vector<int>{SIGUSR2, SIGUSR1});
  told.poller.take(Duration{});
  CHECK(told.told.size() == 2);
}

TEST_CASE("signals: one that comes during the wait, in another thread, ends it") {
  ToldSignals told;
  std::thread other([] { REQUIRE(std::raise(SIGUSR1) == 0); });
  while (told.told.empty()) told.poller.take(std::chrono::seconds(10));
  other.join();
  CHECK(told.told == std::vector<int>{SIGUSR1});
}

TEST_CASE("signals: more than fit into the pipe do not stop the process") {
  ToldSignals told;
  for (int i = 0; i < 100'000; ++i) REQUIRE(std::raise(SIGUSR1) == 0);
  told.poller.take(Duration{});
  CHECK_FALSE(told.told.empty());
}

TEST_CASE("signals: those that come while nobody watches are told to who watches next") {
  Signals signals({SIGUSR1, SIGUSR2});
  REQUIRE(std::raise(SIGUSR2) == 0);
  Poller poller;
  std::vector<int> told;
  const SignalWatch watch(poller, signals, [&](int number) { told.push_back(number); });
  poller.take(Duration{});
  CHECK(told == std::vector<int>{SIGUSR2});
}

TEST_CASE("signals: afterwards the system does again what it does by itself") {
  { const ToldSignals told; }
  struct sigaction action {};
  REQUIRE(::sigaction(SIGUSR1, nullptr, &action) == 0);
  CHECK((action.sa_handler == SIG_DFL));
}

}  // namespace millrace::server
