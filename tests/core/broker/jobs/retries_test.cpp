#include "core/broker/jobs/retries.hpp"

#include <string>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("fail: the job is retried after its back-off, with its failure") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x");
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().fail(client, "j1", {"Oops", "why", {"line"}}, fixture.now));
  CHECK(fixture.state(id) == JobState::kRetrying);
  CHECK(fixture.job(id).failure()->errtype == "Oops");
  fixture.advance(14s);
  CHECK(fixture.state(id) == JobState::kRetrying);
  fixture.advance(31s);
  CHECK(fixture.state(id) == JobState::kReady);
  CHECK(fixture.job(id).failure()->message == "why");
  CHECK(fixture.broker.view().counters().failed == 1);
}

TEST_CASE("fail: the last failure makes the job dead") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("retry=-1");
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().fail(client, "j1", {}, fixture.now));
  CHECK(fixture.state(id) == JobState::kDead);
}

TEST_CASE("fail: a job without retries is dropped") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("retry=0");
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().fail(client, "j1", {}, fixture.now));
  CHECK_FALSE(fixture.has(id));
}

TEST_CASE("fail: a job with long texts is recorded whole, so that its former record is obsolete") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x");
  CHECK(fixture.fetch(client, "w") == id);
  static_cast<void>(fixture.ledger.take_batch());
  fixture.ledger.place(1'000);
  const FailedRun run{"Oops", std::string(1'000, 'm'), {}};
  CHECK(fixture.broker.workers().fail(client, "j1", run, fixture.now));
  static_cast<void>(fixture.ledger.take_batch());
  fixture.ledger.place(2'000);
  CHECK(fixture.job(id).body_at() > 2'000);
}

TEST_CASE(
    "fail: a first failure with short texts is recorded alone, and a later one with the job") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.workers().add(
      client, {.wid = "4c6ba9f0d5e32817", .hostname = "web-worker-1", .pid = 31'415}, fixture.now));
  const JobId id = fixture.push("x");
  static_cast<void>(fixture.ledger.take_batch());
  fixture.ledger.place(1'000);
  const auto body_at_after_failure = [&](Lsn place) {
    CHECK(fixture.fetch(client, "4c6ba9f0d5e32817") == id);
    CHECK(fixture.broker.workers().fail(client, "j1", {"Oops", "why", {}}, fixture.now));
    CHECK(fixture.broker.connections().kick_job(id, fixture.now));
    static_cast<void>(fixture.ledger.take_batch());
    fixture.ledger.place(place);
    return fixture.job(id).body_at();
  };
  CHECK(body_at_after_failure(2'000) < 2'000);
  CHECK(body_at_after_failure(3'000) > 3'000);
}

TEST_CASE("fail: what was planned stays when the delays change, also after a replay") {
  BrokerFixture fixture;
  fixture.broker.admin().set_retry_delays([](const Job&, std::string_view queue) {
    return queue == "default" ? std::optional(RetryDelays{.seconds = {5}}) : std::nullopt;
  });
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x");
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().fail(client, "j1", {}, fixture.now));
  const Time due = fixture.now + 5s;
  CHECK(fixture.job(id).when == due);
  fixture.broker.admin().set_retry_delays({});
  BrokerFixture after;
  REQUIRE(after.ledger.replay(fixture.ledger.take_batch(), 0));
  CHECK(after.job(id).when == due);
  CHECK(after.job(id).failure()->next_at == due);
}

}  // namespace millrace::test
