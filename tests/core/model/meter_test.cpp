#include "core/model/meter.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("histogram: a bound belongs to what took exactly so long") {
  Histogram histogram;
  histogram.add(1ms);
  histogram.add(1ms + Duration{1});
  histogram.add(48h);
  CHECK(histogram.counts()[0] == 1);
  CHECK(histogram.counts()[1] == 1);
  CHECK(histogram.counts().back() == 1);
  CHECK(histogram.count() == 3);
  CHECK(histogram.sum() == 48h + 2ms + Duration{1});
}

TEST_CASE("histogram: a part of all is found between two bounds") {
  Histogram histogram;
  CHECK_FALSE(histogram.quantile(0.5));
  for (int i = 0; i < 90; ++i) histogram.add(3ms);
  for (int i = 0; i < 10; ++i) histogram.add(700ms);
  CHECK(histogram.quantile(0) == 1ms);
  CHECK(histogram.quantile(0.45) == 3ms);
  CHECK(histogram.quantile(0.9) == 5ms);
  CHECK(histogram.quantile(0.95) == 750ms);
  CHECK(histogram.quantile(1) == 1s);
  Histogram late;
  late.add(48h);
  CHECK(late.quantile(0.5) == 24h);
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
