#include "core/model/meter.hpp"

#include <initializer_list>
#include <vector>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

namespace {

Histogram histogram_of(std::initializer_list<Duration> lengths) {
  Histogram histogram;
  for (const Duration length : lengths) histogram.add(length);
  return histogram;
}

/// Where a duration of this length is counted.
std::size_t place_of(Duration length) {
  const Histogram histogram = histogram_of({length});
  std::size_t place = 0;
  while (histogram.count_in(place) == 0) ++place;
  return place;
}

}  // namespace

TEST_CASE("histogram: its bounds have steps of a 25th to a 10th, and every 1, 2 and 5") {
  std::vector<Duration> round;
  for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i) {
    const Duration bound = Histogram::kBounds[i];
    if (Histogram::is_round(i)) round.push_back(bound);
    if (i == 0) continue;
    const Duration step = bound - Histogram::kBounds[i - 1];
    CHECK(step * 10 <= Histogram::kBounds[i - 1]);
    CHECK(step * 25 >= Histogram::kBounds[i - 1]);
  }
  CHECK(round.front() == 100us);
  CHECK(round[3] == 1ms);
  CHECK(round[4] == 2ms);
  CHECK(round[5] == 5ms);
  CHECK(round[6] == 10ms);
  CHECK(round.back() == 100'000s);
}

TEST_CASE("histogram: a bound belongs to what took exactly so long") {
  CHECK(Histogram::kBounds[place_of(1ms)] == 1ms);
  CHECK(place_of(1ms + Duration{1}) == place_of(1ms) + 1);
  CHECK(place_of(Duration{}) == 0);
  CHECK(place_of(-1s) == 0);
  CHECK(place_of(48h) == Histogram::kBounds.size());
  CHECK(histogram_of({1ms, 48h}).sum() == 48h + 1ms);
}

TEST_CASE("histogram: quantiles are right to 5 %, and never above the longest") {
  CHECK_FALSE(Histogram{}.quantile(0.5));
  for (Duration length = 101us; length < 24h; length += length / 7 + Duration{1}) {
    const std::optional<Duration> median = histogram_of({length, length, length}).quantile(0.5);
    CHECK(*median <= length);
    CHECK(*median * 100 >= length * 95);
  }
  Histogram waits;  // Of a queue that has filled for seven minutes.
  for (Duration wait{}; wait < 7min; wait += 100ms) waits.add(wait);
  for (const double part : {0.1, 0.5, 0.9, 0.95, 0.99}) {
    const auto exact = std::chrono::duration<double>(7min) * part;
    CHECK(*waits.quantile(part) / exact == doctest::Approx(1).epsilon(0.05));
  }
  CHECK(waits.quantile(1) < 7min);
  // The shortest may come last.
  CHECK(*histogram_of({2s, 2s, 1ms}).quantile(0.95) > 1900ms);
  CHECK(*histogram_of({2s, 2s, 1ms}).quantile(0.3) <= 1ms);
  CHECK(histogram_of({48h}).quantile(0.5) == 48h);
  CHECK(histogram_of({20us, 30us}).quantile(1) == 30us);
}

TEST_CASE("histogram: what came since an earlier state, and sums") {
  Histogram histogram = histogram_of({1s, 10s});
  const Histogram before = histogram;
  CHECK(histogram.since(before).count() == 0);
  CHECK_FALSE(histogram.since(before).quantile(0.5));
  histogram.add(10s);
  histogram.add(2ms);
  const Histogram after = histogram.since(before);
  CHECK(after.count() == 2);
  CHECK(after.sum() == 10s + 2ms);
  CHECK(after.count_in(place_of(2ms)) == 1);
  CHECK(after.count_in(place_of(1s)) == 0);
  CHECK(after.count_in(place_of(10s)) == 1);
  Histogram sum = before;
  sum.add(after);
  CHECK(sum.count() == 4);
  CHECK(sum.sum() == histogram.sum());
  CHECK(sum.count_in(place_of(10s)) == 2);
  // It has begun anew.
  CHECK(histogram_of({5s}).since(before).count() == 1);
}

TEST_CASE("rate: two together show what both counted") {
  // In the same windows, in windows that follow, and with a pause in between.
  for (const Duration lead : {0s, 15s, 60s}) {
    Rate first;
    Rate second;
    Rate both;
    Time now{1000 * Rate::kWindow};
    for (int i = 0; i < 300; ++i, now += 100ms) first.add(now), both.add(now);
    now += lead;
    for (int i = 0; i < 100; ++i, now += 100ms) second.add(now), both.add(now);
    Rate sum = first;
    sum.add(second);
    CHECK(sum.per_second(now) == both.per_second(now));
    second.add(first);
    CHECK(second.per_second(now) == both.per_second(now));
    sum.add(Rate{});
    CHECK(sum.per_second(now) == both.per_second(now));
  }
}

TEST_CASE("rate: even events show their rate, and it fades when they end") {
  Rate rate;
  Time now = kStart;
  for (int i = 0; i < 600; ++i, now += 100ms) rate.add(now);
  CHECK(rate.per_second(now) == doctest::Approx(10).epsilon(0.01));
  CHECK(rate.per_second(now + Rate::kWindow) < 10);
  CHECK(rate.per_second(now + 2 * Rate::kWindow) == 0);
}

TEST_CASE("meter: a queue measures waiting and running") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.put("x");
  fixture.now += 2s;
  const std::optional<JobId> id = fixture.reserve(client);
  fixture.now += 7s;
  CHECK(fixture.broker.connections().remove(client, *id, fixture.now));
  const QueueMeter& meter = *fixture.broker.view().queues().find("default")->meter;
  CHECK(meter.wait.sum() == 2s);
  CHECK(meter.run.sum() == 7s);
  CHECK(meter.processed.total == 1);
  CHECK(meter.failed.total == 0);
}

}  // namespace millrace::test
