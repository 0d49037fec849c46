#include "faktory/login_guard.hpp"

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

constexpr Time kNow{1'600'000'000s};

void fail_times(LoginGuard& guard, std::string_view peer, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) guard.note_failure(peer, kNow);
}

}  // namespace

TEST_CASE("login guard: a few wrong passwords cost nothing") {
  LoginGuard guard;
  fail_times(guard, "a", kFreeFailures);
  CHECK(guard.turn_of("a", kNow) == kNow);
}

TEST_CASE("login guard: one more, and turns are kept apart") {
  LoginGuard guard;
  fail_times(guard, "a", kFreeFailures + 1);
  CHECK(guard.turn_of("a", kNow) == kNow + kTurnPauseMin);
  CHECK(guard.turn_of("a", kNow) == kNow + 2 * kTurnPauseMin);
}

TEST_CASE("login guard: the pause doubles up to its limit") {
  LoginGuard guard;
  fail_times(guard, "a", kFreeFailures + 1);
  CHECK(guard.turn_of("a", kNow) == kNow + kTurnPauseMin);
  guard.note_failure("a", kNow);
  CHECK(guard.turn_of("a", kNow) == kNow + 2 * kTurnPauseMin);
  CHECK(guard.turn_of("a", kNow) == kNow + 4 * kTurnPauseMin);
  fail_times(guard, "a", 100);
  CHECK(guard.turn_of("a", kNow + 10s) == kNow + 10s);
  CHECK(guard.turn_of("a", kNow + 10s) == kNow + 10s + kTurnPauseMax);
}

TEST_CASE("login guard: who would wait for too long is sent away") {
  LoginGuard guard;
  fail_times(guard, "a", 100);
  CHECK(guard.turn_of("a", kNow + 1s));
  CHECK(guard.turn_of("a", kNow + 1s));
  CHECK(guard.turn_of("a", kNow + 1s));
  CHECK_FALSE(guard.turn_of("a", kNow + 1s));
}

TEST_CASE("login guard: other peers are not affected") {
  LoginGuard guard;
  fail_times(guard, "a", 100);
  CHECK(guard.turn_of("b", kNow) == kNow);
}

TEST_CASE("login guard: forgets in time") {
  LoginGuard guard;
  fail_times(guard, "a", 100);
  CHECK(guard.turn_of("a", kNow + kFailuresRemembered) == kNow + kFailuresRemembered);
  CHECK(guard.size() == 0);
}

TEST_CASE("login guard: has a limit, beyond which peers are one") {
  LoginGuard guard;
  for (std::size_t i = 0; i < kPeersMax; ++i) guard.note_failure(std::to_string(i), kNow);
  CHECK(guard.turn_of("new", kNow) == kNow);
  for (std::uint32_t i = 0; i <= kFreeFailures; ++i) {
    guard.note_failure("new" + std::to_string(i), kNow);
  }
  CHECK(guard.size() == kPeersMax + 1);
  CHECK(guard.turn_of("another", kNow) > kNow);
  guard.note_failure("later", kNow + kFailuresRemembered);
  CHECK(guard.size() == 1);
}

}  // namespace millrace::faktory
