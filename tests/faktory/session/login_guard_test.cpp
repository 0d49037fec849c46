#include "faktory/session/login_guard.hpp"

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

constexpr Time kFirstLogin{1'600'000'000s};

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

TEST_CASE("login guard: there is a limit for all that wait") {
  LoginGuard guard;
  for (std::size_t i = 0; i < kWaitingMax; ++i) {
    const std::string peer = std::to_string(i / kWaitingOfPeerMax);
    fail_times(guard, peer, kFreeFailures + 1);
    REQUIRE(guard.wait(peer, kFirstLogin));
  }
  fail_times(guard, "a", kFreeFailures + 1);
  CHECK_FALSE(guard.wait("a", kFirstLogin));
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

TEST_CASE("login guard: has a limit, beyond which peers are one") {
  LoginGuard guard;
  for (std::size_t i = 0; i < kPeersMax; ++i) guard.note_failure(std::to_string(i), kFirstLogin);
  CHECK_FALSE(guard.is_slow("new", kFirstLogin));
  for (std::uint32_t i = 0; i <= kFreeFailures; ++i) {
    guard.note_failure("new" + std::to_string(i), kFirstLogin);
  }
  CHECK(guard.size() == kPeersMax + 1);
  CHECK(guard.is_slow("another", kFirstLogin));
  CHECK_FALSE(guard.is_slow("1", kFirstLogin));
  const auto turn = guard.wait("another", kFirstLogin);
  guard.note_failure("later", kFirstLogin + kFailuresRemembered);
  CHECK(guard.size() == 2);
  guard.leave(turn.value());
}

}  // namespace millrace::faktory
