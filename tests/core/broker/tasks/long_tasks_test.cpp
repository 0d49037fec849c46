#include "core/broker/tasks/long_tasks.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

/// Puts so many jobs into the queue, due in an hour.
void delay_many(BrokerFixture& fixture, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    fixture.put("x", {.queue = "default", .ttr_s = 60, .due = fixture.now + 1h});
  }
}

}  // namespace

TEST_CASE("long tasks: two of them have slices in turn") {
  BrokerFixture fixture;
  const ClientId one = fixture.client();
  const ClientId two = fixture.client();
  delay_many(fixture, 6 * kSliceChanges);
  CHECK_FALSE(fixture.broker.connections().kick(one, 3 * kSliceChanges, fixture.now));
  CHECK_FALSE(fixture.broker.connections().kick(two, 3 * kSliceChanges, fixture.now));
  fixture.broker.tick(fixture.now);
  fixture.broker.tick(fixture.now);
  CHECK_FALSE(fixture.delivered(one));
  fixture.broker.tick(fixture.now);
  CHECK(fixture.delivered(one)->count == 3 * kSliceChanges);
  CHECK_FALSE(fixture.delivered(two));
  fixture.broker.tick(fixture.now);
  CHECK(fixture.delivered(two)->count == 3 * kSliceChanges);
}

TEST_CASE("long tasks: a kick ends with its client") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  delay_many(fixture, 2 * kSliceChanges);
  CHECK_FALSE(fixture.broker.connections().kick(client, 2 * kSliceChanges, fixture.now));
  fixture.leave(client);
  CHECK(fixture.broker.tick(fixture.now) == fixture.now + 1h);
  CHECK(fixture.broker.view().orders().count(JobState::kScheduled) == kSliceChanges);
}

}  // namespace millrace::test
