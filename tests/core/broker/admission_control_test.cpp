/// What the broker refuses when room is short, and what is always accepted.

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

template <typename T>
bool is_refused_for_room(const Answer<T>& answer) {
  return !answer && answer.error() == Refusal::kNoRoom;
}

}  // namespace

TEST_CASE("admission: without room for jobs, only those are refused") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  fixture.broker.set_admission(Admission::kNoJobs);
  CHECK(fixture.broker.refuses_jobs());
  CHECK(is_refused_for_room(fixture.broker.put({.queue = "default"}, fixture.now)));
  CHECK(fixture.reserve(client) == id);
  CHECK(fixture.broker.connections().bury(client, id, 0, fixture.now));
  CHECK(fixture.broker.admin().pause("default", 60, fixture.now));
  fixture.broker.set_admission(Admission::kEverything);
  CHECK(fixture.broker.put({.queue = "default"}, fixture.now));
}

TEST_CASE("admission: no record becomes longer, and reservations still end") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  CHECK(fixture.reserve(client) == id);
  fixture.broker.set_admission(Admission::kNoGrowth);
  CHECK(is_refused_for_room(fixture.broker.connections().bury(client, id, 0, fixture.now)));
  CHECK(is_refused_for_room(fixture.broker.connections().release(client, id, 0, 10, fixture.now)));
  CHECK(is_refused_for_room(
      fixture.broker.admin().change_held(id, Mutation::Action::kKill, fixture.now)));
  CHECK(is_refused_for_room(fixture.broker.admin().pause("default", 60, fixture.now)));
  CHECK(fixture.broker.admin().pause("default", 0, fixture.now));
  CHECK(fixture.state(id) == JobState::kReserved);
  CHECK(fixture.broker.connections().release(client, id, 0, 0, fixture.now));
  CHECK(
      is_refused_for_room(fixture.broker.admin().change(id, Mutation::Action::kKill, fixture.now)));
  CHECK(fixture.reserve(client) == id);
  CHECK(fixture.broker.connections().remove(client, id, fixture.now));
}

TEST_CASE("admission: a failure counts, and its texts are left out") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x");
  CHECK(fixture.fetch(client, "w") == id);
  fixture.broker.set_admission(Admission::kNoGrowth);
  CHECK(fixture.broker.workers().fail(client, "j1", {"Oops", "why", {"line"}}, fixture.now));
  CHECK(fixture.state(id) == JobState::kRetrying);
  CHECK(fixture.job(id).failure()->errtype.empty());
  CHECK(fixture.job(id).failure()->message.empty());
  CHECK(fixture.job(id).failure()->backtrace.empty());
  CHECK(fixture.broker.view().counters().failed == 1);
}

TEST_CASE("admission: at the end nothing is reserved, but jobs end, are kicked and come due") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId held = fixture.push("held");
  CHECK(fixture.fetch(client, "w") == held);
  const JobId ready = fixture.put("ready");
  const JobId due = fixture.schedule("due", 5s);
  const JobId dead = fixture.push_dead("dead");
  fixture.broker.set_admission(Admission::kEndingsOnly);
  const auto delivery = fixture.broker.reserve(client, {.wait_until = kNever}, fixture.now);
  REQUIRE(delivery);
  CHECK(delivery->kind == Delivery::Kind::kNoRoom);
  CHECK(is_refused_for_room(fixture.broker.connections().reserve_job(client, ready, fixture.now)));
  fixture.advance(6s);
  CHECK(fixture.state(due) == JobState::kReady);
  CHECK(fixture.broker.connections().kick_job(dead, fixture.now));
  CHECK(fixture.broker.connections().remove(client, ready, fixture.now));
  CHECK(fixture.broker.workers().ack(client, "j1", fixture.now));
  CHECK_FALSE(fixture.has(held));
  fixture.broker.set_admission(Admission::kEverything);
  CHECK(fixture.reserve(client));
}

TEST_CASE("admission: a client that waits for a job when there is none waits on") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.broker.set_admission(Admission::kEndingsOnly);
  CHECK(fixture.wait(client, 10s));
  fixture.advance(11s);
  CHECK(fixture.delivered(client)->kind == Delivery::Kind::kTimedOut);
}

}  // namespace millrace::test
