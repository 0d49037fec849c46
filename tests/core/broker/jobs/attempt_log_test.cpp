#include "core/broker/jobs/attempt_log.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

const std::vector<Attempt>& attempts_of(const BrokerFixture& fixture, JobId id) {
  const Attempts* const attempts = fixture.broker.view().jobs().attempts_of(fixture.job(id));
  CHECK(attempts != nullptr);
  return attempts->list;
}

/// The worker, which holds the job, says so after a second; and the job is ready again.
void fail(BrokerFixture& fixture, ClientId client, JobId id, const std::string& message) {
  CHECK(fixture.fetch(client, "w") == id);
  fixture.advance(1s);
  const std::string jid = "j" + std::to_string(id);
  CHECK(fixture.broker.workers().fail(client, jid, {.errtype = "E", .message = message},
                                      fixture.now));
  CHECK(fixture.broker.connections().kick_job(id, fixture.now));
}

}  // namespace

TEST_CASE("attempts: a failed run is known with its worker and its times") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.workers().add(client, {.wid = "w", .hostname = "host", .pid = 7},
                                     fixture.now));
  const JobId id = fixture.push("x");
  CHECK(fixture.broker.view().jobs().attempts_of(fixture.job(id)) == nullptr);
  const Time began = fixture.now;
  fail(fixture, client, id, "first");
  const Attempt& attempt = attempts_of(fixture, id).front();
  CHECK(attempt.number == 1);
  CHECK(attempt.began == began);
  CHECK(attempt.ended == began + 1s);
  CHECK(attempt.end == AttemptEnd::kFailed);
  CHECK(attempt.wid == "w");
  CHECK(attempt.hostname == "host");
  CHECK(attempt.pid == 7);
  CHECK(attempt.connection == client);
}

TEST_CASE("attempts: the first error of a job is there after the second") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x");
  fail(fixture, client, id, "first");
  fail(fixture, client, id, "second");
  CHECK(attempts_of(fixture, id).size() == 2);
  CHECK(attempts_of(fixture, id).front().message == "first");
  CHECK(fixture.job(id).failure()->message == "second");
}

TEST_CASE("attempts: a reservation that runs out is one, of a worker and of a connection") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId pushed = fixture.push("x");
  CHECK(fixture.fetch(client, "w") == pushed);
  const JobId put = fixture.put("y", {.queue = "default", .ttr_s = 10});
  CHECK(fixture.reserve(client) == put);
  fixture.advance(1800s);
  CHECK(attempts_of(fixture, pushed).front().end == AttemptEnd::kExpired);
  CHECK(attempts_of(fixture, put).front().end == AttemptEnd::kTimedOut);
  CHECK(attempts_of(fixture, put).front().ended == kStart + 10s);
}

TEST_CASE("attempts: a run that ended well, was given back or undone is none") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId put = fixture.put("y");
  CHECK(fixture.reserve(client) == put);
  CHECK(fixture.broker.connections().release(client, put, 0, 0, fixture.now));
  CHECK(fixture.broker.view().jobs().attempts_of(fixture.job(put)) == nullptr);
  CHECK(fixture.broker.connections().remove(client, put, fixture.now));
  const JobId pushed = fixture.push("x");
  CHECK(fixture.fetch(client, "w") == pushed);
  CHECK(fixture.broker.workers().undo_fetch(pushed, fixture.now, fixture.now));
  CHECK(fixture.broker.view().jobs().attempts_of(fixture.job(pushed)) == nullptr);
}

TEST_CASE("attempts: while records must not grow, none is noted") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x");
  fixture.broker.set_admission(Admission::kNoGrowth);
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().fail(client, "j1", {.message = "m"}, fixture.now));
  CHECK(fixture.broker.view().jobs().attempts_of(fixture.job(id)) == nullptr);
}

TEST_CASE("attempts: a restart finds them, after the job was written once more too") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x");
  std::vector<std::string> batches;
  fail(fixture, client, id, "first");
  batches.push_back(fixture.ledger.take_batch());
  fixture.ledger.place(0);
  fixture.ledger.rewrite(kWholeLog, 1);
  fail(fixture, client, id, std::string(5000, 'x'));
  fail(fixture, client, id, "third");
  batches.push_back(fixture.ledger.take_batch());
  Ledger replayed;
  Lsn at = 0;
  for (const std::string& batch : batches) {
    CHECK(replayed.replay(batch, at));
    at += batch.size();
  }
  const Jobs& jobs = replayed.store().jobs();
  CHECK((*jobs.attempts_of(*jobs.find(id)) ==
         *fixture.ledger.store().jobs().attempts_of(fixture.job(id))));
  CHECK(replayed.live_bytes() == fixture.ledger.live_bytes());
}

TEST_CASE("attempts: the text of a failed run is written once") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x");
  fail(fixture, client, id, "first");
  (void)fixture.ledger.take_batch();
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().fail(client, "j1", {.message = "unheard of"}, fixture.now));
  const std::string batch = fixture.ledger.take_batch();
  const std::size_t found = batch.find("unheard of");
  REQUIRE(found != std::string::npos);
  CHECK(batch.find("unheard of", found + 1) == std::string::npos);
}

}  // namespace millrace::test
