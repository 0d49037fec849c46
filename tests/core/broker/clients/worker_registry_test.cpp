#include "core/broker/clients/worker_registry.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("beat: states move rightwards only") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.workers().add(client, {.wid = "w"}, fixture.now));
  using State = Worker::State;
  CHECK(fixture.broker.workers().beat("w", State::kQuiet, 1, fixture.now).value() == State::kQuiet);
  CHECK(fixture.broker.workers().beat("w", State::kRunning, 2, fixture.now).value() ==
        State::kQuiet);
  CHECK_FALSE(fixture.broker.workers().beat("nobody", State::kRunning, 0, fixture.now));
}

TEST_CASE("beat: a worker that turns quiet gets nothing for a FETCH that waits already") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.workers().add(client, {.wid = "w"}, fixture.now));
  CHECK(fixture.wait_for(client, {"default"}, "w"));
  CHECK(fixture.broker.workers().beat("w", Worker::State::kQuiet, 0, fixture.now));
  CHECK(fixture.delivered(client)->kind == Delivery::Kind::kTimedOut);
  const JobId id = fixture.push("x");
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("beat: a silent worker is removed and its connections are told to close") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.workers().add(client, {.wid = "w"}, fixture.now));
  fixture.advance(60s);
  CHECK_FALSE(fixture.delivered(client));
  fixture.advance(15s);
  CHECK(fixture.delivered(client)->kind == Delivery::Kind::kEvicted);
  CHECK(fixture.broker.view().workers().empty());
}

TEST_CASE("beat: a silent worker that was handed a job keeps its connections") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.workers().add(client, {.wid = "w"}, fixture.now));
  fixture.push("x");
  CHECK(fixture.fetch(client, "w"));
  fixture.advance(600s);
  CHECK_FALSE(fixture.delivered(client));
  CHECK(fixture.broker.view().workers().size() == 1);
}

TEST_CASE("workers: removed with their last connection") {
  BrokerFixture fixture;
  const ClientId one = fixture.client();
  const ClientId two = fixture.client();
  CHECK(fixture.broker.workers().add(one, {.wid = "w"}, fixture.now));
  CHECK(fixture.broker.workers().add(two, {.wid = "w"}, fixture.now));
  fixture.leave(one);
  CHECK(fixture.broker.view().workers().size() == 1);
  fixture.leave(two);
  CHECK(fixture.broker.view().workers().empty());
}

}  // namespace millrace::test
