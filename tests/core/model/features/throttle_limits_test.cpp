#include "core/model/features/throttle_limits.hpp"

#include "support/doctest.hpp"

namespace millrace {
namespace {

constexpr Time kNow{1'600'000'000s};
const TokenBucket kBucket({.rate_count = 3, .rate_s = 6});

}  // namespace

TEST_CASE("token bucket: one that was never used is full") {
  CHECK(kBucket.tokens(Time{}, kNow) == 3);
  CHECK(kBucket.next_at(Time{}) <= kNow);
}

TEST_CASE("token bucket: each token that is taken comes back after its share of the time") {
  Time full_at = kBucket.taken(Time{}, kNow);
  CHECK(full_at == kNow + 2s);
  full_at = kBucket.taken(full_at, kNow);
  CHECK(kBucket.tokens(full_at, kNow) == 1);
  full_at = kBucket.taken(full_at, kNow);
  CHECK(kBucket.tokens(full_at, kNow) == 0);
  CHECK(kBucket.next_at(full_at) == kNow + 2s);
  CHECK(kBucket.tokens(full_at, kNow + 2s) == 1);
}

TEST_CASE("token bucket: it never has less than no token") {
  const Time full_at = kBucket.taken(kNow + 6s, kNow);
  CHECK(full_at == kNow + 6s);
  CHECK(kBucket.tokens(full_at, kNow) == 0);
}

TEST_CASE("token bucket: a token that is given back is there") {
  CHECK(kBucket.given_back(kBucket.taken(kNow + 1s, kNow)) == kNow + 1s);
}

TEST_CASE("token bucket: an interval that is no whole number lets nothing more through") {
  const TokenBucket bucket({.rate_count = 7, .rate_s = 1});
  CHECK(bucket.next_at(bucket.taken(Time{}, kNow)) <= kNow);
  CHECK(bucket.taken(Time{}, kNow) - kNow == 142'857'143ns);
}

TEST_CASE("limits: they are complete and within their bounds") {
  CHECK(is_valid({}));
  CHECK(is_valid({.concurrency = kThrottleSlotsMax, .timeout_s = kThrottleSecondsMax}));
  CHECK_FALSE(is_valid({.concurrency = kThrottleSlotsMax + 1, .timeout_s = 1}));
  CHECK_FALSE(is_valid({.concurrency = 1}));
  CHECK_FALSE(is_valid({.worker = 1}));
  CHECK_FALSE(is_valid({.rate_count = 1}));
  CHECK_FALSE(is_valid({.rate_s = 1}));
  CHECK(is_valid({.rate_count = kThrottleRateMax, .rate_s = 1}));
  CHECK_FALSE(is_valid({.rate_count = kThrottleRateMax + 1, .rate_s = 1}));
}

}  // namespace millrace
