#include "faktory/session/login_guard.hpp"

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

constexpr Time kFirstLogin{1'600'000'000s};
constexpr std::size_t kMore = 200;  // so many find no room

void fail_times(LoginGuard& guard, std::string_view peer, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) guard.note_failure(peer, kFirstLogin);
}

}  // namespace

TEST_CASE("login guard: a few wrong passwords cost nothing") {
  LoginGuard guard;
  CHECK_FALSE(guard.is_slow("a", kFirstLogin));
  fail_times(guard, "a", kFreeFailures);
  CHECK_FALSE(guard.is_slow("a", kFirstLogin));
}

TEST_CASE("login guard: one more, and the address is slow, others are not") {
  LoginGuard guard;
  fail_times(guard, "a", kFreeFailures + 1);
  CHECK(guard.is_slow("a", kFirstLogin));
  CHECK_FALSE(guard.is_slow("b", kFirstLogin));
}

TEST_CASE("login guard: one login waits for a pause, several at once for longer") {
  LoginGuard guard;
  fail_times(guard, "a", kFreeFailures + 1);
  CHECK(guard.wait("a", kFirstLogin)->at == kFirstLogin + kTurnPause);
  CHECK(guard.wait("a", kFirstLogin)->at > kFirstLogin + kTurnPause);
  CHECK(guard.wait("a", kFirstLogin)->at > kFirstLogin + 3 * kTurnPause / 2);
  CHECK(guard.wait("a", kFirstLogin)->at == kFirstLogin + 2 * kTurnPause);
}

TEST_CASE("login guard: a client that has left is not counted") {
  LoginGuard guard;
  fail_times(guard, "a", kFreeFailures + 1);
  for (int i = 0; i < 10; ++i) guard.leave(guard.wait("a", kFirstLogin).value());
  CHECK(guard.wait("a", kFirstLogin)->at == kFirstLogin + kTurnPause);
}

TEST_CASE(
    "login guard: the last one that may wait does so within the limit; one more is sent away") {
  LoginGuard guard;
  fail_times(guard, "a", kFreeFailures + 1);
  std::optional<LoginGuard::Turn> turn;
  for (std::uint32_t i = 0; i < kWaitingOfPeerMax; ++i) turn = guard.wait("a", kFirstLogin);
  REQUIRE(turn);
  CHECK(turn->at <= kFirstLogin + kTurnWaitMax);
  CHECK(turn->at > kFirstLogin + kTurnWaitMax - kTurnPause);
  CHECK_FALSE(guard.wait("a", kFirstLogin));
  guard.leave(*turn);
  CHECK(guard.wait("a", kFirstLogin));
}

TEST_CASE("login guard: forgets in time") {
  LoginGuard guard;
  fail_times(guard, "a", 100);
  CHECK(guard.is_slow("a", kFirstLogin + kFailuresRemembered - 1ms));
  CHECK_FALSE(guard.is_slow("a", kFirstLogin + kFailuresRemembered));
  guard.note_failure("a", kFirstLogin + kFailuresRemembered);
  CHECK_FALSE(guard.is_slow("a", kFirstLogin + kFailuresRemembered));
}

TEST_CASE("login guard: a further wrong password is remembered as long as the first") {
  LoginGuard guard;
  fail_times(guard, "a", kFreeFailures + 1);
  guard.note_failure("a", kFirstLogin + kFailuresRemembered - 1ms);
  CHECK(guard.is_slow("a", kFirstLogin + kFailuresRemembered));
}

TEST_CASE(
    "login guard: there is a limit for all that wait, beyond which each address has a place") {
  LoginGuard guard;
  for (std::size_t i = 0; i < kWaitingMax; ++i) {
    const std::string peer = std::to_string(i / kWaitingOfPeerMax);
    fail_times(guard, peer, kFreeFailures + 1);
    REQUIRE(guard.wait(peer, kFirstLogin));
  }
  fail_times(guard, "a", kFreeFailures + 1);
  const auto first = guard.wait("a", kFirstLogin);
  REQUIRE(first);
  CHECK(first->at == kFirstLogin + kTurnPause);
  CHECK_FALSE(guard.wait("a", kFirstLogin));
  guard.leave(*first);
  CHECK(guard.wait("a", kFirstLogin));
}

TEST_CASE("login guard: however many addresses fail, one that was not seen before does not wait") {
  LoginGuard guard;
  for (std::size_t i = 0; i < kPeersMax + kMore; ++i) {
    fail_times(guard, std::to_string(i), 1 + i % (2 * kFreeFailures));
  }
  CHECK(guard.size() == kPeersMax);
  CHECK_FALSE(guard.is_slow("new", kFirstLogin));
}

TEST_CASE("login guard: with no room left the least guilty are forgotten, the oldest first") {
  LoginGuard guard;
  fail_times(guard, "guilty", kFreeFailures + 1);
  guard.note_failure("old", kFirstLogin);
  for (std::size_t i = guard.size(); i < kPeersMax; ++i) {
    fail_times(guard, std::to_string(i), kFreeFailures - 1);
  }
  fail_times(guard, "last", kFreeFailures);
  CHECK(guard.size() == kPeersMax);
  CHECK(guard.is_slow("guilty", kFirstLogin));
  fail_times(guard, "old", kFreeFailures);
  CHECK_FALSE(guard.is_slow("old", kFirstLogin));
  guard.note_failure("last", kFirstLogin);
  CHECK(guard.is_slow("last", kFirstLogin));
}

TEST_CASE("login guard: an address whose logins wait is not forgotten") {
  LoginGuard guard;
  fail_times(guard, "a", kFreeFailures + 1);
  const auto turn = guard.wait("a", kFirstLogin);
  for (std::size_t i = 0; i < kPeersMax + kMore; ++i) {
    fail_times(guard, std::to_string(i), kFreeFailures + 2);
  }
  guard.note_failure("later", kFirstLogin + kFailuresRemembered);
  CHECK(guard.size() == 2);
  guard.leave(turn.value());
}

TEST_CASE("login guard: one that is forgotten between two questions gets its turn") {
  LoginGuard guard;
  const auto turn = guard.wait("a", kFirstLogin);
  CHECK(turn->at == kFirstLogin + kTurnPause);
  guard.leave(*turn);
}

namespace {

/// The /64 of that number in the /56 of that number.
std::string network(char site, char number) {
  return {'\x20', '\x01', '\x0d', '\xb8', '\0', '\0', site, number};
}

}  // namespace

TEST_CASE("login guard: an IPv6 site whose networks guess in turn becomes slow as a whole") {
  LoginGuard guard;
  for (std::uint32_t i = 0; i < kFreeFailuresOfSite; ++i) {
    guard.note_failure(network(1, static_cast<char>(i)), kFirstLogin);
  }
  CHECK_FALSE(guard.is_slow(network(1, '\x7f'), kFirstLogin));
  guard.note_failure(network(1, '\x7e'), kFirstLogin);
  CHECK(guard.is_slow(network(1, '\x7f'), kFirstLogin));
  CHECK_FALSE(guard.is_slow(network(2, 1), kFirstLogin));
  CHECK_FALSE(guard.is_slow(network(1, '\x7f'), kFirstLogin + kFailuresRemembered));
}

TEST_CASE("login guard: all networks of a slow site wait in one line") {
  LoginGuard guard;
  fail_times(guard, network(1, 1), kFreeFailuresOfSite + 1);
  CHECK(guard.wait(network(1, 2), kFirstLogin)->at == kFirstLogin + kTurnPause);
  CHECK(guard.wait(network(1, 3), kFirstLogin)->at > kFirstLogin + kTurnPause);
}

TEST_CASE("login guard: a slow network leaves the others of its site alone") {
  LoginGuard guard;
  fail_times(guard, network(1, 1), kFreeFailures + 1);
  CHECK(guard.is_slow(network(1, 1), kFirstLogin));
  CHECK_FALSE(guard.is_slow(network(1, 2), kFirstLogin));
}

TEST_CASE("login guard: the networks of a /48 fill the memory, and nobody else waits") {
  LoginGuard guard;
  for (std::size_t i = 0; i < kPeersMax + kMore; ++i) {
    guard.note_failure(network(static_cast<char>(i), static_cast<char>(i >> 8)), kFirstLogin);
  }
  CHECK(guard.size() == kPeersMax);
  CHECK_FALSE(guard.is_slow("\xC0\x00\x02\x07", kFirstLogin));
}

}  // namespace millrace::faktory
