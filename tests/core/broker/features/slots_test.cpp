#include "core/broker/features/slots.hpp"

#include "core/state/throttle/throttle_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

constexpr ThrottleLimits kOne{.concurrency = 1, .timeout_s = 60};
constexpr ThrottleLimits kOneEach{.worker = 1, .timeout_s = 60};

}  // namespace

// ---- the limits ---------------------------------------------------------------------------------

TEST_CASE("throttle: a queue hands out no more than its concurrency") {
  ThrottleFixture fixture(kTwo);
  fixture.push_many(3);
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "a"));
  CHECK(fixture.fetch(client, "b"));
  CHECK_FALSE(fixture.fetch(client, "c"));
  CHECK(fixture.throttle().taken() == 2);
  CHECK(fixture.throttle().free(fixture.now) == 0);
}

TEST_CASE("throttle: a full queue counts as empty, so the next one of the list is asked") {
  ThrottleFixture fixture(kOne);
  fixture.push_many(2);
  const JobId other = fixture.push("jid=other", "other");
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "a", {"default", "other"}) != other);
  CHECK(fixture.fetch(client, "a", {"default", "other"}) == other);
}

TEST_CASE("throttle: a reserve passes over a full tube") {
  ThrottleFixture fixture(kOne);
  const ClientId client = fixture.client();
  CHECK(fixture.broker.connections().watch(client, "other"));
  fixture.put("a");
  fixture.put("b");
  const JobId other = fixture.put("c", {.queue = "other", .pri = 9, .ttr_s = 60});
  CHECK(fixture.reserve(client) != other);
  CHECK(fixture.reserve(client) == other);
  CHECK_FALSE(fixture.reserve(client));
}

TEST_CASE("throttle: each worker has its own slots") {
  ThrottleFixture fixture(kOneEach);
  fixture.push_many(3);
  const ClientId a = fixture.worker("a");
  const ClientId b = fixture.worker("b");
  CHECK(fixture.fetch(a, "a"));
  CHECK_FALSE(fixture.fetch(a, "a"));
  CHECK(fixture.fetch(b, "b"));
  CHECK_FALSE(fixture.fetch(fixture.worker("a"), "a"));
}

TEST_CASE("throttle: each consumer without a wid and each beanstalk connection is a worker") {
  ThrottleFixture fixture(kOneEach);
  fixture.push_many(5);
  const ClientId first = fixture.client();
  const ClientId second = fixture.client();
  CHECK(fixture.fetch(first, ""));
  CHECK_FALSE(fixture.fetch(first, ""));
  CHECK(fixture.fetch(second, ""));
  const ClientId connection = fixture.client();
  CHECK(fixture.reserve(connection));
  CHECK_FALSE(fixture.reserve(connection));
  CHECK(fixture.reserve(fixture.client()));
}

TEST_CASE("throttle: both limits hold for one queue") {
  ThrottleFixture fixture({.concurrency = 2, .worker = 1, .timeout_s = 60});
  fixture.push_many(4);
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "a"));
  CHECK_FALSE(fixture.fetch(client, "a"));
  CHECK(fixture.fetch(client, "b"));
  CHECK_FALSE(fixture.fetch(client, "c"));
}

TEST_CASE("throttle: reserve-job is counted and not refused") {
  ThrottleFixture fixture(kOne);
  const ClientId client = fixture.client();
  fixture.put("a");
  const JobId second = fixture.put("b");
  CHECK(fixture.reserve(client));
  CHECK(fixture.broker.connections().reserve_job(client, second, fixture.now));
  CHECK(fixture.throttle().taken() == 2);
  CHECK(fixture.throttle().free(fixture.now) == 0);
}

TEST_CASE("throttle: a paused queue hands out nothing, whatever is free") {
  ThrottleFixture fixture(kOne);
  fixture.push_many(1);
  CHECK(fixture.broker.admin().pause("default", std::nullopt, fixture.now));
  CHECK_FALSE(fixture.fetch(fixture.client(), "a"));
  CHECK(fixture.broker.admin().pause("default", 0, fixture.now));
  CHECK(fixture.fetch(fixture.client(), "a"));
}

// ---- a slot becomes free ------------------------------------------------------------------------

TEST_SUITE("throttle: a client that waits has the next job when") {
  /// One job runs, held by worker `a`; another one is ready, and a client waits for it.
  struct Waiting : ThrottleFixture {
    Waiting() : ThrottleFixture(kOne) {
      push_many(2);
      held = fetch(a, "a").value();
      CHECK(wait_for(waiting, {"default"}, "w"));
    }
    ClientId a = worker("a");
    ClientId waiting = client();
    JobId held = 0;
  };

  TEST_CASE_FIXTURE(Waiting, "a run succeeds") {
    CHECK(broker.workers().ack(a, "1", now));
    CHECK(got(waiting));
    CHECK(throttle().taken() == 1);
  }
  TEST_CASE_FIXTURE(Waiting, "a run fails") {
    CHECK(broker.workers().fail(a, "1", {}, now));
    CHECK(got(waiting));
  }
  TEST_CASE_FIXTURE(Waiting, "an operator kills the running job") {
    CHECK(broker.admin().change_held(held, Mutation::Action::kKill, now));
    CHECK(got(waiting));
  }
  TEST_CASE_FIXTURE(Waiting, "an operator discards the running job") {
    CHECK(broker.admin().change_held(held, Mutation::Action::kDiscard, now));
    CHECK(got(waiting));
  }
  TEST_CASE_FIXTURE(Waiting, "an operator requeues the running job") {
    CHECK(broker.admin().change_held(held, Mutation::Action::kRequeue, now));
    CHECK(got(waiting));
  }
  TEST_CASE_FIXTURE(Waiting, "the worker is lost") {
    broker.admin().set_worker_rules({.timeout = 30s}, now);
    CHECK(broker.workers().beat("a", Worker::State::kRunning, 0, now));
    leave(a);
    CHECK_FALSE(got(waiting));
    advance(30s);
    CHECK(got(waiting));
    CHECK(throttle().reclaimed == 1);
  }
  TEST_CASE_FIXTURE(Waiting, "not before: a client that never beats closes its connection") {
    broker.admin().set_worker_rules({.timeout = 30s}, now);
    leave(a);
    advance(50s);
    CHECK_FALSE(got(waiting));
    CHECK(throttle().taken() == 1);
  }
  TEST_CASE_FIXTURE(Waiting, "the job runs for longer than the timeout") {
    advance(59s);
    CHECK_FALSE(got(waiting));
    CHECK(broker.workers().beat("a", Worker::State::kRunning, 0, now));
    advance(1s);
    CHECK(got(waiting));
    CHECK(throttle().overage == 1);
  }
  TEST_CASE_FIXTURE(Waiting, "the limit is raised") {
    limit(kTwo);
    CHECK(got(waiting));
  }
  TEST_CASE_FIXTURE(Waiting, "the limit is dropped") {
    limit(std::vector<ThrottleRule>{});
    CHECK(got(waiting));
    CHECK(broker.view().throttles().table().by_name().size() == 0);
  }
  TEST_CASE_FIXTURE(Waiting, "an operator raises the limit") {
    CHECK(broker.admin().set_throttle("default", kTwo, now));
    CHECK(got(waiting));
  }
  TEST_CASE_FIXTURE(Waiting, "a fetch is undone") {
    CHECK(broker.workers().undo_fetch(held, now, now));
    CHECK(got(waiting) == held);
    CHECK(throttle().held == 1);
  }
  TEST_CASE_FIXTURE(Waiting, "everything is flushed and a job comes") {
    static_cast<void>(broker.admin().flush(client(), now));
    settle();
    CHECK(throttle().taken() == 0);
    push_many(1);
    CHECK(got(waiting));
  }
}

TEST_CASE("throttle: the job of a connection that closes goes to the client that waits") {
  ThrottleFixture fixture(kOne);
  const ClientId holder = fixture.client();
  const JobId id = fixture.put("a");
  CHECK(fixture.reserve(holder) == id);
  const ClientId waiting = fixture.client();
  CHECK(fixture.wait(waiting));
  fixture.leave(holder);
  CHECK(fixture.got(waiting) == id);
}

TEST_CASE("throttle: the job of a connection whose TTR is over goes to the client that waits") {
  ThrottleFixture fixture(kOne);
  const ClientId holder = fixture.client();
  const JobId id = fixture.put("a", {.queue = "default", .ttr_s = 5});
  CHECK(fixture.reserve(holder) == id);
  const ClientId waiting = fixture.client();
  CHECK(fixture.wait(waiting));
  fixture.advance(5s);
  CHECK(fixture.got(waiting) == id);
}

TEST_CASE(
    "throttle: a job that runs while its queue is removed goes on, and counts until it ends") {
  ThrottleFixture fixture(kOne);
  fixture.push_many(2);
  const ClientId worker = fixture.worker("a");
  const auto held = fixture.fetch(worker, "a");
  REQUIRE(held);
  CHECK(fixture.broker.admin().remove_queues(worker, {"default"}, fixture.now) == 1);
  CHECK(fixture.state(*held) == JobState::kReserved);
  fixture.push("jid=later", "default");
  CHECK_FALSE(fixture.fetch(worker, "a"));
  CHECK(fixture.broker.workers().ack(worker, "1", fixture.now));
  CHECK(fixture.fetch(worker, "a"));
}

TEST_CASE("throttle: a bury and a delayed release free the slot") {
  ThrottleFixture fixture(kOne);
  const ClientId holder = fixture.client();
  fixture.put("a");
  fixture.put("b");
  const JobId third = fixture.put("c");
  const ClientId waiting = fixture.client();
  const JobId first = fixture.reserve(holder).value();
  CHECK(fixture.wait(waiting));
  CHECK(fixture.broker.connections().bury(holder, first, 0, fixture.now));
  const auto second = fixture.got(waiting);
  REQUIRE(second);
  CHECK(fixture.wait(holder));
  CHECK(fixture.broker.connections().release(waiting, *second, 0, 10, fixture.now));
  CHECK(fixture.got(holder) == third);
}

TEST_CASE("throttle: clients are served in the order in which they came") {
  ThrottleFixture fixture(kOne);
  fixture.push_many(3);
  const ClientId holder = fixture.client();
  CHECK(fixture.fetch(holder, "a"));
  const ClientId first = fixture.client();
  const ClientId second = fixture.client();
  CHECK(fixture.wait_for(first, {"default"}, "b"));
  CHECK(fixture.wait_for(second, {"default"}, "c"));
  CHECK(fixture.broker.workers().ack(holder, "1", fixture.now));
  // Not even one that asks at this very moment comes before them.
  CHECK_FALSE(fixture.fetch(fixture.client(), "d"));
  CHECK(fixture.got(first));
  CHECK_FALSE(fixture.got(second));
}

TEST_CASE("throttle: a client whose worker has no free slot is passed over") {
  ThrottleFixture fixture(kOneEach);
  const ClientId a = fixture.worker("a");
  const ClientId b = fixture.worker("b");
  fixture.push_many(1);
  CHECK(fixture.fetch(a, "a"));
  CHECK(fixture.wait_for(a, {"default"}, "a"));
  CHECK(fixture.wait_for(b, {"default"}, "b"));
  fixture.push_many(2);
  CHECK_FALSE(fixture.got(a));
  CHECK(fixture.got(b));
  CHECK(fixture.broker.workers().ack(fixture.client(), "1", fixture.now));
  CHECK(fixture.got(a));
}

TEST_CASE("throttle: more clients are passed over than fit into a slice") {
  ThrottleFixture fixture(kOneEach);
  const ClientId a = fixture.worker("a");
  fixture.push_many(1);
  CHECK(fixture.fetch(a, "a"));
  for (std::size_t i = 0; i < kSliceJobs + 1; ++i) {
    CHECK(fixture.wait_for(fixture.worker("a"), {"default"}, "a"));
  }
  const ClientId b = fixture.worker("b");
  CHECK(fixture.wait_for(b, {"default"}, "b"));
  fixture.push_many(1);
  CHECK_FALSE(fixture.delivered(b));
  CHECK(fixture.got(b));
}

// ---- workers ------------------------------------------------------------------------------------

TEST_CASE(
    "throttle: a client that opens a connection for each command has no more slots than others") {
  ThrottleFixture fixture(kOne);
  fixture.push_many(3);
  const ClientId first = fixture.worker("a");
  CHECK(fixture.fetch(first, "a"));
  fixture.leave(first);
  CHECK(fixture.throttle().taken() == 1);
  const ClientId again = fixture.worker("a");
  CHECK_FALSE(fixture.fetch(again, "a"));
  CHECK(fixture.broker.workers().ack(again, "1", fixture.now));
  CHECK(fixture.fetch(again, "a"));
}

TEST_CASE("throttle: a client without a wid that closes its connection keeps its slot") {
  ThrottleFixture fixture(kOne);
  fixture.push_many(2);
  const ClientId first = fixture.client();
  CHECK(fixture.fetch(first, ""));
  fixture.leave(first);
  const ClientId again = fixture.client();
  CHECK_FALSE(fixture.fetch(again, ""));
  CHECK(fixture.broker.workers().ack(again, "1", fixture.now));
  CHECK(fixture.fetch(again, ""));
}

TEST_CASE("throttle: a job that is too old frees nothing twice when it ends") {
  ThrottleFixture fixture({.concurrency = 1, .timeout_s = 5});
  fixture.push_many(3);
  const ClientId a = fixture.worker("a");
  CHECK(fixture.fetch(a, "a"));
  fixture.advance(5s);
  CHECK(fixture.fetch(fixture.client(), "b"));
  CHECK(fixture.broker.workers().ack(a, "1", fixture.now));
  CHECK(fixture.throttle().taken() == 1);
  CHECK_FALSE(fixture.fetch(a, "a"));
}

TEST_CASE("throttle: touching a job that is too old does not make it count again") {
  ThrottleFixture fixture({.concurrency = 1, .timeout_s = 5});
  const ClientId client = fixture.client();
  const JobId id = fixture.put("a");
  CHECK(fixture.reserve(client) == id);
  fixture.advance(5s);
  CHECK(fixture.broker.connections().touch(client, id, fixture.now));
  CHECK(fixture.throttle().taken() == 0);
}

TEST_CASE("throttle: touching a job keeps its slot") {
  ThrottleFixture fixture(kOne);
  const ClientId client = fixture.client();
  const JobId id = fixture.put("a");
  CHECK(fixture.reserve(client) == id);
  CHECK(fixture.broker.connections().touch(client, id, fixture.now));
  CHECK(fixture.throttle().taken() == 1);
  CHECK(fixture.throttle().held == 1);
}

// ---- changes of the limits ----------------------------------------------------------------------

TEST_CASE("throttle: where the limit is lowered, running jobs finish") {
  ThrottleFixture fixture({.concurrency = 4, .timeout_s = 60});
  fixture.push_many(6);
  const ClientId client = fixture.client();
  for (int i = 0; i < 4; ++i) CHECK(fixture.fetch(client, "w"));
  fixture.limit(kTwo);
  for (int i = 1; i <= 2; ++i) {
    CHECK(fixture.broker.workers().ack(client, std::to_string(i), fixture.now));
    CHECK_FALSE(fixture.fetch(client, "w"));
  }
  CHECK(fixture.broker.workers().ack(client, "3", fixture.now));
  CHECK(fixture.fetch(client, "w"));
  CHECK_FALSE(fixture.fetch(client, "w"));
}

TEST_CASE("throttle: jobs that run when a limit comes are counted, in slices") {
  ThrottleFixture fixture({.concurrency = 5, .timeout_s = 60});
  const int many = 2 * kSliceJobs + 1;
  fixture.push_many(many + 1, "late");
  const ClientId client = fixture.worker("w");
  for (int i = 0; i < many; ++i) CHECK(fixture.fetch(client, "w", {"late"}));
  const std::uint32_t limit = many + 1;
  const std::vector<ThrottleRule> list{
      {.pattern = "late", .limits = {.concurrency = limit, .timeout_s = 60}}};
  fixture.broker.admin().set_throttle_rules(rules_of(list), fixture.now);
  // Until all are counted the queue hands out nothing.
  CHECK_FALSE(fixture.fetch(client, "w", {"late"}));
  fixture.settle();
  CHECK(fixture.throttle("late").taken() == many);
  CHECK(fixture.fetch(client, "w", {"late"}));
}

TEST_CASE("throttle: the limits of an operator win until they are removed") {
  ThrottleFixture fixture(kOne);
  fixture.push_many(4);
  CHECK(fixture.broker.admin().set_throttle("default", kTwo, fixture.now));
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "a"));
  CHECK(fixture.fetch(client, "a"));
  fixture.limit({.concurrency = 4, .timeout_s = 60});
  CHECK_FALSE(fixture.fetch(client, "a"));
  CHECK(fixture.broker.admin().remove_throttle("default", fixture.now));
  CHECK(fixture.fetch(client, "a"));
  CHECK_FALSE(fixture.broker.admin().remove_throttle("default", fixture.now));
}

TEST_CASE("throttle: an operator can take a queue out of the configured limits") {
  ThrottleFixture fixture(kOne);
  fixture.push_many(2);
  CHECK(fixture.broker.admin().set_throttle("default", {}, fixture.now));
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "a"));
  CHECK(fixture.fetch(client, "a"));
}

TEST_CASE("throttle: as many queues may be limited by operators, and not one more") {
  ThrottleFixture fixture(kOne);
  AdminOperations& admin = fixture.broker.admin();
  for (std::size_t i = 0; i < kThrottlesByHandMax; ++i) {
    CHECK(admin.set_throttle("q" + std::to_string(i), kOne, fixture.now));
  }
  const auto refused = admin.set_throttle("one more", kOne, fixture.now);
  CHECK((!refused && refused.error() == Refusal::kTooMany));
  CHECK(admin.set_throttle("q0", kTwo, fixture.now));
}

TEST_CASE("throttle: limits are refused while records must not grow") {
  ThrottleFixture fixture(kOne);
  fixture.broker.set_admission(Admission::kNoGrowth);
  const auto refused = fixture.broker.admin().set_throttle("q", kOne, fixture.now);
  CHECK((!refused && refused.error() == Refusal::kNoRoom));
}

// ---- rates --------------------------------------------------------------------------------------

TEST_CASE("throttle: so many jobs begin in so long, however fast they end") {
  ThrottleFixture fixture({.rate_count = 2, .rate_s = 10});
  fixture.push_many(5);
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "a"));
  CHECK(fixture.broker.workers().ack(client, "1", fixture.now));
  CHECK(fixture.fetch(client, "a"));
  CHECK_FALSE(fixture.fetch(client, "a"));
  fixture.advance(4999ms);
  CHECK_FALSE(fixture.fetch(client, "a"));
  fixture.advance(1ms);
  CHECK(fixture.fetch(client, "a"));
  CHECK_FALSE(fixture.fetch(client, "a"));
}

TEST_CASE("throttle: a client that waits has the job the moment a token comes") {
  ThrottleFixture fixture({.rate_count = 1, .rate_s = 10});
  fixture.push_many(2);
  CHECK(fixture.fetch(fixture.client(), "a"));
  const ClientId waiting = fixture.client();
  CHECK(fixture.wait_for(waiting, {"default"}, "b"));
  fixture.advance(9999ms);
  CHECK_FALSE(fixture.got(waiting));
  fixture.advance(1ms);
  CHECK(fixture.got(waiting));
}

TEST_CASE("throttle: a client that waits for a job and for a token has it when both are there") {
  ThrottleFixture fixture({.rate_count = 1, .rate_s = 10});
  fixture.push_many(1);
  CHECK(fixture.fetch(fixture.client(), "a"));
  const ClientId waiting = fixture.client();
  CHECK(fixture.wait_for(waiting, {"default"}, "b"));
  fixture.push_many(1);
  CHECK_FALSE(fixture.got(waiting));
  fixture.advance(10s);
  CHECK(fixture.got(waiting));
}

TEST_CASE("throttle: a tube that vanishes does not fill its bucket") {
  ThrottleFixture fixture({.rate_count = 1, .rate_s = 10});
  fixture.limit({{.pattern = "tube", .limits = {.rate_count = 1, .rate_s = 10}}});
  const auto take = [&] {
    const ClientId client = fixture.client();
    CHECK(fixture.broker.connections().watch(client, "tube"));
    fixture.put("a", {.queue = "tube", .ttr_s = 60});
    const auto id = fixture.reserve(client);
    if (id) CHECK(fixture.broker.connections().remove(client, *id, fixture.now));
    fixture.leave(client);
    return id.has_value();
  };
  CHECK(take());
  CHECK(fixture.broker.view().queues().find("tube") == nullptr);
  CHECK_FALSE(take());
}

TEST_CASE("throttle: nothing is stored of a bucket that is full again") {
  ThrottleFixture fixture({.rate_count = 2, .rate_s = 10});
  fixture.push_many(2);
  CHECK(fixture.fetch(fixture.client(), "a"));
  CHECK(fixture.fetch(fixture.client(), "a"));
  CHECK(fixture.throttle().full_at == fixture.now + 10s);
  fixture.advance(10s);
  CHECK(fixture.throttle().full_at == Time{});
}

TEST_CASE("throttle: after a lower rate a higher one holds at once") {
  ThrottleFixture fixture({.rate_count = 1, .rate_s = 3600});
  fixture.push_many(2);
  CHECK(fixture.fetch(fixture.client(), "a"));
  fixture.limit({.rate_count = 1, .rate_s = 1});
  fixture.advance(1s);
  CHECK(fixture.fetch(fixture.client(), "a"));
}

}  // namespace millrace::test
