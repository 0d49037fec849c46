#include "core/broker/jobs/pauses.hpp"

#include <string>
#include <vector>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("pause: the queue hands out nothing until it ends, then clients that wait are served") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  CHECK(fixture.broker.admin().pause("default", 2, fixture.now));
  CHECK(fixture.wait(client));
  fixture.advance(1999ms);
  CHECK_FALSE(fixture.delivered(client));
  fixture.advance(1ms);
  CHECK(fixture.delivered(client)->job == id);
}

TEST_CASE("pause: clients that wait until the moment at which very many pauses end are served") {
  constexpr std::size_t kQueues = 2 * kSliceJobs + 1;
  BrokerFixture fixture;
  std::vector<ClientId> clients;
  for (std::size_t i = 0; i < kQueues; ++i) {
    const std::string name = "q" + std::to_string(i);
    fixture.put("x", {.queue = name, .ttr_s = 60});
    CHECK(fixture.broker.admin().pause(name, 2, fixture.now));
    clients.push_back(fixture.client());
    CHECK(fixture.wait_for(clients.back(), {name}, "w" + std::to_string(i), 2s));
  }
  fixture.advance(2s);
  for (const ClientId client : clients) {
    const auto got = fixture.delivered(client);
    REQUIRE(got);
    REQUIRE(got->kind == Delivery::Kind::kJob);
  }
}

TEST_CASE("pause: 0 resumes at once") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.put("x");
  CHECK(fixture.broker.admin().pause("default", std::nullopt, fixture.now));
  CHECK(fixture.wait(client));
  CHECK(fixture.broker.admin().pause("default", 0, fixture.now));
  CHECK(fixture.delivered(client)->kind == Delivery::Kind::kJob);
}

TEST_CASE("pause: an unknown queue is refused") {
  BrokerFixture fixture;
  CHECK_FALSE(fixture.broker.admin().pause("nobody", 1, fixture.now));
}

TEST_CASE("pause: a pause that holds already is not recorded again") {
  BrokerFixture fixture;
  CHECK(fixture.broker.admin().pause("default", std::nullopt, fixture.now));
  (void)fixture.ledger.take_batch();
  CHECK(fixture.broker.admin().pause("default", std::nullopt, fixture.now));
  CHECK_FALSE(fixture.ledger.has_batch());
}

TEST_CASE("pause: one that was resumed or overwritten plans nothing") {
  BrokerFixture fixture;
  CHECK(fixture.broker.admin().pause("default", 4'000'000'000, fixture.now));
  CHECK(fixture.broker.admin().pause("default", 9, fixture.now));
  CHECK(fixture.broker.tick(fixture.now) == fixture.now + 9s);
  CHECK(fixture.broker.admin().pause("default", 0, fixture.now));
  CHECK(fixture.broker.tick(fixture.now) == kNever);
}

TEST_CASE("pause: one without end keeps its queue") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.connections().use(client, "t"));
  CHECK(fixture.broker.admin().pause("t", std::nullopt, fixture.now));
  CHECK(fixture.broker.connections().use(client, "default"));
  CHECK(fixture.broker.view().queues().find("t") != nullptr);
  CHECK(fixture.broker.admin().pause("t", 0, fixture.now));
  CHECK(fixture.broker.view().queues().find("t") == nullptr);
}

}  // namespace millrace::test
