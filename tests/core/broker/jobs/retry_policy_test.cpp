#include "core/broker/jobs/retry_policy.hpp"

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("back-off: the first retry comes after 15 to 44 seconds") {
  CHECK(back_off(0, 0) == Duration{15s});
  CHECK(back_off(0, 29) == Duration{44s});
}

TEST_CASE("back-off: the fourth power of the count and a growing random part") {
  CHECK(back_off(5, 0) == Duration{640s});
  CHECK(back_off(5, 29) == Duration{814s});
  CHECK(back_off(24, 29) == Duration{332516s});
}

TEST_CASE("back-off: an absurd count stays within the calendar") {
  CHECK(back_off(INT64_MAX, 29) == back_off(200, 29));
}

TEST_CASE("retry: 0 drops the job at its first failure") {
  CHECK_FALSE(judge(0, nullptr, Time{1s}, 0));
}

TEST_CASE("retry: less than 0 dies at once") {
  const auto verdict = judge(-7, nullptr, Time{1s}, 0);
  REQUIRE(verdict);
  CHECK(verdict->state == JobState::kDead);
  CHECK(verdict->failure.remaining == -7);
  CHECK(verdict->failure.next_at == Time{});
}

TEST_CASE("retry: the first failure of a job with retries is planned again") {
  const auto verdict = judge(2, nullptr, Time{1s}, 0);
  REQUIRE(verdict);
  CHECK(verdict->state == JobState::kRetrying);
  CHECK(verdict->failure.retry_count == 0);
  CHECK(verdict->failure.remaining == 2);
  CHECK(verdict->failure.failed_at == Time{1s});
  CHECK(verdict->failure.next_at == Time{16s});
}

TEST_CASE("retry: with 2 retries the third failure is the last") {
  const auto first = judge(2, nullptr, Time{1s}, 0);
  const auto second = judge(2, &first->failure, Time{20s}, 0);
  const auto third = judge(2, &second->failure, Time{60s}, 0);
  CHECK(second->state == JobState::kRetrying);
  CHECK(third->state == JobState::kDead);
  CHECK(third->failure.retry_count == 2);
  CHECK(third->failure.remaining == 0);
  CHECK(third->failure.failed_at == Time{1s});
  CHECK(third->failure.next_at == second->failure.next_at);
}

TEST_CASE("retry delays: each retry has its own, and the last one repeats") {
  const RetryDelays delays{.seconds = {10, 60, 600}};
  CHECK(retry_delay(0, {29, &delays}) == Duration{10s});
  CHECK(retry_delay(1, {29, &delays}) == Duration{60s});
  CHECK(retry_delay(2, {29, &delays}) == Duration{600s});
  CHECK(retry_delay(24, {29, &delays}) == Duration{600s});
  CHECK(retry_delay(INT64_MAX, {29, &delays}) == Duration{600s});
}

TEST_CASE("retry delays: a factor makes the usual back-off longer, within the calendar") {
  const RetryDelays half{.factor = 0.5};
  CHECK(retry_delay(0, {29, &half}) == Duration{22s});
  const RetryDelays most{.factor = 100};
  CHECK(retry_delay(5, {0, &most}) == Duration{64'000s});
  CHECK(retry_delay(INT64_MAX, {29, &most}) == back_off(200, 0));
}

TEST_CASE("retry: the delays that are asked for count in the verdict, and not the number") {
  const RetryDelays delays{.seconds = {7}};
  const auto verdict = judge(2, nullptr, Time{1s}, {29, &delays});
  REQUIRE(verdict);
  CHECK(verdict->failure.next_at == Time{8s});
  CHECK(verdict->failure.remaining == 2);
}

}  // namespace millrace
