#include "core/broker/jobs/expiry.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("expiry: an idle holder's job becomes ready when it runs out") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x", {.queue = "default", .ttr_s = 2});
  CHECK(fixture.reserve(client) == id);
  fixture.advance(1999ms);
  CHECK(fixture.state(id) == JobState::kReserved);
  fixture.advance(1ms);
  CHECK(fixture.state(id) == JobState::kReady);
  CHECK(fixture.job(id).tallies().timeouts == 1);
  CHECK(fixture.broker.view().tally().reservations_timed_out == 1);
}

TEST_CASE("disconnect: the jobs that the connection held are ready at once") {
  BrokerFixture fixture;
  const ClientId holder = fixture.client();
  const ClientId waiter = fixture.client();
  const JobId id = fixture.put("x");
  CHECK(fixture.reserve(holder) == id);
  CHECK(fixture.wait(waiter));
  fixture.leave(holder);
  CHECK(fixture.delivered(waiter)->job == id);
  CHECK(fixture.job(id).tallies().releases == 0);
}

TEST_CASE("disconnect: more jobs than a slice are released by further ticks") {
  BrokerFixture fixture;
  const ClientId holder = fixture.client();
  for (std::size_t i = 0; i < kSliceJobs + 1; ++i) fixture.put("x");
  while (fixture.reserve(holder)) {
  }
  fixture.leave(holder);
  CHECK(fixture.broker.view().orders().count(JobState::kReserved) == 1);
  fixture.settle();
  CHECK(fixture.broker.view().orders().count(JobState::kReserved) == 0);
}

TEST_CASE("disconnect: jobs with long failure texts are released in batches that are not long") {
  BrokerFixture fixture;
  const ClientId holder = fixture.client();
  constexpr std::size_t kTextBytes = 20'000;
  for (int i = 0; i < 200; ++i) {
    Failure failure;
    failure.message = std::string(kTextBytes, 'm');
    fixture.put("x", {.queue = "default", .failure = failure});
  }
  while (fixture.reserve(holder)) {
  }
  static_cast<void>(fixture.ledger.take_batch());
  fixture.leave(holder);
  std::size_t batches = 0;
  while (fixture.ledger.has_batch()) {
    CHECK(fixture.ledger.batch_bytes() < kBatchBytesPause + 2 * kTextBytes);
    static_cast<void>(fixture.ledger.take_batch());
    ++batches;
    fixture.broker.tick(fixture.now);
  }
  CHECK(batches == 4);
  CHECK(fixture.broker.view().orders().count(JobState::kReserved) == 0);
}

TEST_CASE("worker hold: outlives the connection, and fails when reserve_for runs out") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x");
  CHECK(fixture.fetch(client, "w") == id);
  fixture.leave(client);
  CHECK(fixture.state(id) == JobState::kReserved);
  fixture.advance(1800s);
  CHECK(fixture.state(id) == JobState::kRetrying);
  CHECK(fixture.job(id).failure()->errtype == "ReservationExpired");
}

}  // namespace millrace::test
