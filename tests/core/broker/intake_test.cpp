/// What the broker refuses when room is short, and what goes on whatever happens.

#include "core/bench.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

template <typename T>
bool is_refused_for_room(const Answer<T>& answer) {
  return !answer && answer.error() == Refusal::kNoRoom;
}

}  // namespace

TEST_CASE("intake: without room for jobs, only those are refused") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x");
  bench.broker.set_intake(Intake::kNoJobs);
  CHECK(bench.broker.refuses_jobs());
  CHECK(is_refused_for_room(bench.broker.put({.queue = "default"}, bench.now)));
  CHECK(bench.reserve(client) == id);
  CHECK(bench.broker.bury(client, id, 0, bench.now));
  CHECK(bench.broker.admin().pause("default", 60, bench.now));
  bench.broker.set_intake(Intake::kEverything);
  CHECK(bench.broker.put({.queue = "default"}, bench.now));
}

TEST_CASE("intake: nothing becomes longer, and what ends a reservation goes on") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x");
  CHECK(bench.reserve(client) == id);
  bench.broker.set_intake(Intake::kNothingLonger);
  CHECK(is_refused_for_room(bench.broker.bury(client, id, 0, bench.now)));
  CHECK(is_refused_for_room(bench.broker.release(client, id, 0, 10, bench.now)));
  CHECK(is_refused_for_room(
      bench.broker.admin().change_held(id, Mutation::Action::kKill, bench.now)));
  CHECK(is_refused_for_room(bench.broker.admin().pause("default", 60, bench.now)));
  CHECK(bench.broker.admin().pause("default", 0, bench.now));
  CHECK(bench.state(id) == JobState::kReserved);
  CHECK(bench.broker.release(client, id, 0, 0, bench.now));
  CHECK(is_refused_for_room(bench.broker.admin().change(id, Mutation::Action::kKill, bench.now)));
  CHECK(bench.reserve(client) == id);
  CHECK(bench.broker.remove(client, id, bench.now));
}

TEST_CASE("intake: a failure counts, and what it says is left out") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.push("x");
  CHECK(bench.fetch(client, "w") == id);
  bench.broker.set_intake(Intake::kNothingLonger);
  CHECK(bench.broker.workers().fail(client, "j1", {"Oops", "why", {"line"}}, bench.now));
  CHECK(bench.state(id) == JobState::kRetrying);
  CHECK(bench.job(id).failure()->errtype.empty());
  CHECK(bench.job(id).failure()->message.empty());
  CHECK(bench.job(id).failure()->backtrace.empty());
  CHECK(bench.broker.view().counters().failed == 1);
}

TEST_CASE("intake: at the end nothing is reserved, but jobs end, are kicked and come due") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId held = bench.push("held");
  CHECK(bench.fetch(client, "w") == held);
  const JobId ready = bench.put("ready");
  const JobId due = bench.schedule("due", 5s);
  const JobId dead = bench.push_dead("dead");
  bench.broker.set_intake(Intake::kEndings);
  const auto delivery = bench.broker.reserve(client, {.wait_until = kNever}, bench.now);
  REQUIRE(delivery);
  CHECK(delivery->kind == Delivery::Kind::kNoRoom);
  CHECK(is_refused_for_room(bench.broker.reserve_job(client, ready, bench.now)));
  bench.advance(6s);
  CHECK(bench.state(due) == JobState::kReady);
  CHECK(bench.broker.kick_job(dead, bench.now));
  CHECK(bench.broker.remove(client, ready, bench.now));
  CHECK(bench.broker.workers().ack(client, "j1", bench.now));
  CHECK_FALSE(bench.has(held));
  bench.broker.set_intake(Intake::kEverything);
  CHECK(bench.reserve(client));
}

TEST_CASE("intake: who waits for a job when there is none waits on") {
  Bench bench;
  const ClientId client = bench.client();
  bench.broker.set_intake(Intake::kEndings);
  CHECK(bench.wait(client, 10s));
  bench.advance(11s);
  CHECK(bench.delivered(client)->kind == Delivery::Kind::kTimedOut);
}

}  // namespace millrace::test
