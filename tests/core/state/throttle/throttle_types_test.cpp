#include <optional>

#include "core/broker/features/slots.hpp"
#include "core/state/throttle/throttle_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

constexpr ThrottleLimits kOneMail{.concurrency = 1, .timeout_s = 60};

/// A broker that limits the type `Mail`.
struct Mail : ThrottleFixture {
  explicit Mail(const ThrottleLimits& limits = kOneMail) : ThrottleFixture(ThrottleLimits{}) {
    limit_mail(limits);
  }
  void limit_mail(const ThrottleLimits& limits) {
    limit({{.pattern = "type:Mail", .limits = limits}});
  }
  JobId mail(std::string_view queue = "default") { return push_one("Mail", "", queue); }
  JobId other(std::string_view queue = "default") { return push_one("Other", "", queue); }
  [[nodiscard]] std::uint32_t taken() const { return throttle("type:Mail").taken(); }
};

/// A job in `a` runs, held by worker `a`; another one is ready in `b`, where a client waits.
struct WaitingForType : Mail {
  WaitingForType() {
    held = mail("a");
    ready = mail("b");
    CHECK(fetch(a, "a", {"a"}) == held);
    CHECK(wait_for(waiting, {"b"}, "w"));
  }
  ClientId a = worker("a");
  ClientId waiting = client();
  JobId held = 0;
  JobId ready = 0;
};

}  // namespace

TEST_CASE("type throttle: so many jobs of a type run at a time, over all queues") {
  Mail fixture(kTwo);
  for (const char* const queue : {"a", "b", "c"}) fixture.mail(queue);
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w", {"a"}));
  CHECK(fixture.fetch(client, "w", {"b"}));
  CHECK_FALSE(fixture.fetch(client, "w", {"c"}));
  CHECK(fixture.taken() == 2);
}

TEST_CASE("type throttle: a job behind those of a full type is handed out") {
  Mail fixture;
  for (int i = 0; i < 3; ++i) fixture.mail();
  const JobId other = fixture.other();
  const ClientId client = fixture.client();
  const JobId first = fixture.fetch(client, "w").value();
  CHECK(fixture.fetch(client, "w") == other);
  CHECK_FALSE(fixture.fetch(client, "w"));
  fixture.ack(client, first);
  CHECK(fixture.fetch(client, "w"));
  CHECK_FALSE(fixture.fetch(client, "w"));
}

TEST_CASE("type throttle: jobs keep their order when the type has room again") {
  Mail fixture;
  const JobId first = fixture.mail();
  const JobId second = fixture.mail();
  const JobId third = fixture.other();
  const JobId fourth = fixture.mail();
  const JobId fifth = fixture.other();
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w") == first);
  CHECK(fixture.fetch(client, "w") == third);
  fixture.ack(client, first);
  CHECK(fixture.fetch(client, "w") == second);
  CHECK(fixture.fetch(client, "w") == fifth);
  fixture.ack(client, second);
  CHECK(fixture.fetch(client, "w") == fourth);
  CHECK(fixture.broker.view().queues().find("default")->lines == nullptr);
}

TEST_CASE("type throttle: jobs that were put are limited by the type in their body") {
  Mail fixture;
  for (int i = 0; i < 2; ++i) fixture.put("type=Mail,");
  const JobId other = fixture.put("x");
  const ClientId client = fixture.client();
  CHECK(fixture.reserve(client));
  CHECK(fixture.reserve(client) == other);
  CHECK_FALSE(fixture.reserve(client));
}

TEST_CASE("type throttle: limits of a wrapper count for its jobs whose type has none") {
  Mail fixture;
  fixture.limit(
      {{.pattern = "type:Mail", .limits = kTwo}, {.pattern = "type:Wrapper", .limits = kOneMail}});
  const ClientId client = fixture.client();
  const auto runs = [&](const char* type) {
    fixture.push_one(type, "");
    return fixture.fetch(client, "w").has_value();
  };
  CHECK(runs("Report/Wrapper"));
  CHECK_FALSE(runs("Cleanup/Wrapper"));
  CHECK(runs("Mail/Wrapper"));
  CHECK(runs("Mail"));
  CHECK_FALSE(runs("Mail/Wrapper"));
  CHECK(fixture.throttle("type:Wrapper").taken() == 1);
  CHECK(fixture.taken() == 2);
}

TEST_CASE("type throttle: a reserve over several tubes gets the most urgent job that may run") {
  Mail fixture;
  const ClientId client = fixture.client();
  for (const char* const tube : {"a", "b"}) CHECK(fixture.broker.connections().watch(client, tube));
  const JobId first = fixture.mail("a");
  fixture.mail("a");
  fixture.mail("b");
  const JobId late = fixture.put("x", {.queue = "a", .pri = 9, .ttr_s = 60});
  const JobId early = fixture.put("x", {.queue = "b", .pri = 7, .ttr_s = 60});
  CHECK(fixture.reserve(client) == first);
  CHECK(fixture.reserve(client) == early);
  CHECK(fixture.reserve(client) == late);
  CHECK_FALSE(fixture.reserve(client));
  CHECK(fixture.broker.connections().remove(client, first, fixture.now));
  CHECK(fixture.reserve(client));
}

TEST_CASE("type throttle: reserve-job is counted and not refused") {
  Mail fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.connections().reserve_job(client, fixture.mail(), fixture.now));
  CHECK(fixture.broker.connections().reserve_job(client, fixture.mail(), fixture.now));
  CHECK(fixture.taken() == 2);
}

TEST_CASE("type throttle: a queue and a type may both be limited") {
  Mail fixture;
  fixture.limit(
      {{.pattern = "default", .limits = kTwo}, {.pattern = "type:Mail", .limits = kOneMail}});
  fixture.mail();
  fixture.mail();
  fixture.other();
  fixture.other();
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w"));
  CHECK(fixture.fetch(client, "w"));
  CHECK_FALSE(fixture.fetch(client, "w"));
  CHECK(fixture.throttle().taken() == 2);
  CHECK(fixture.taken() == 1);
}

// ---- a slot becomes free ------------------------------------------------------------------------

TEST_SUITE("type throttle: a client that waits in another queue has the next job when") {
  TEST_CASE_FIXTURE(WaitingForType, "a run succeeds") {
    ack(a, held);
    CHECK(got(waiting) == ready);
    CHECK(taken() == 1);
  }
  TEST_CASE_FIXTURE(WaitingForType, "a run fails") {
    CHECK(broker.workers().fail(a, "1", {}, now));
    CHECK(got(waiting) == ready);
  }
  TEST_CASE_FIXTURE(WaitingForType, "an operator kills the running job") {
    CHECK(broker.admin().change_held(held, Mutation::Action::kKill, now));
    CHECK(got(waiting) == ready);
  }
  TEST_CASE_FIXTURE(WaitingForType, "an operator discards the running job") {
    CHECK(broker.admin().change_held(held, Mutation::Action::kDiscard, now));
    CHECK(got(waiting) == ready);
  }
  TEST_CASE_FIXTURE(WaitingForType, "the worker is lost") {
    broker.admin().set_worker_rules({.timeout = 30s}, now);
    CHECK(broker.workers().beat("a", Worker::State::kRunning, 0, now));
    leave(a);
    CHECK_FALSE(got(waiting));
    advance(30s);
    CHECK(got(waiting) == ready);
    CHECK(throttle("type:Mail").reclaimed == 1);
  }
  TEST_CASE_FIXTURE(WaitingForType, "not before: a client that never beats closes its connection") {
    broker.admin().set_worker_rules({.timeout = 30s}, now);
    leave(a);
    advance(50s);
    CHECK_FALSE(got(waiting));
    CHECK(taken() == 1);
  }
  TEST_CASE_FIXTURE(WaitingForType, "the job runs for longer than the timeout") {
    advance(59s);
    CHECK_FALSE(got(waiting));
    CHECK(broker.workers().beat("a", Worker::State::kRunning, 0, now));
    advance(1s);
    CHECK(got(waiting) == ready);
    CHECK(throttle("type:Mail").overage == 1);
  }
  TEST_CASE_FIXTURE(WaitingForType, "the limit is raised") {
    limit_mail(kTwo);
    CHECK(got(waiting) == ready);
  }
  TEST_CASE_FIXTURE(WaitingForType, "the limit is dropped") {
    limit(std::vector<ThrottleRule>{});
    CHECK(got(waiting) == ready);
    CHECK(broker.view().throttles().table().by_name().size() == 0);
  }
  TEST_CASE_FIXTURE(WaitingForType, "an operator raises the limit") {
    CHECK(broker.admin().set_throttle("type:Mail", kTwo, now));
    CHECK(got(waiting) == ready);
  }
  TEST_CASE_FIXTURE(WaitingForType, "the queue of the running job is flushed") {
    static_cast<void>(broker.admin().flush(client(), now));
    settle();
    CHECK(taken() == 0);
    const JobId late = mail("b");
    CHECK(got(waiting) == late);
  }
}

TEST_CASE("type throttle: the job of a connection whose TTR is over frees the slot") {
  Mail fixture;
  const ClientId holder = fixture.client();
  NewJob job{.kind = JobKind::kWorkUnit, .queue = "default", .ttr_s = 5};
  const JobId id = fixture.put("type=Mail,", std::move(job));
  CHECK(fixture.reserve(holder) == id);
  fixture.mail("b");
  const ClientId waiting = fixture.client();
  CHECK(fixture.wait_for(waiting, {"b"}, "w"));
  fixture.advance(5s);
  CHECK(fixture.got(waiting));
}

TEST_CASE("type throttle: a job that comes when a slot is free comes after those that wait") {
  Mail fixture;
  const auto put = [&fixture](Pri pri) {
    NewJob job{.kind = JobKind::kWorkUnit, .queue = "default", .pri = pri, .ttr_s = 5};
    return fixture.put("type=Mail,", std::move(job));
  };
  const ClientId holder = fixture.client();
  const JobId late = put(9);
  CHECK(fixture.reserve(holder) == late);
  const JobId urgent = put(1);
  const ClientId waiting = fixture.client();
  CHECK(fixture.wait_for(waiting, {"default"}, "w"));
  // Its time is over: it frees the slot, and comes back at once.
  fixture.advance(5s);
  CHECK(fixture.got(waiting) == urgent);
}

TEST_CASE("type throttle: a free slot counts before those that wait were looked at") {
  Mail fixture;
  const ClientId a = fixture.worker("a");
  const JobId held = fixture.mail();
  CHECK(fixture.fetch(a, "a") == held);
  const JobId passed_over = fixture.mail();
  CHECK_FALSE(fixture.fetch(a, "a"));
  // In one turn.
  fixture.ack(a, held);
  const JobId late = fixture.other();
  CHECK(fixture.fetch(a, "a") == passed_over);
  CHECK(fixture.fetch(a, "a") == late);
}

TEST_CASE("type throttle: a free slot is for the queue where a client has waited longer") {
  WaitingForType fixture;
  const JobId passed_over = fixture.mail("a");
  CHECK_FALSE(fixture.fetch(fixture.a, "a", {"a"}));
  const JobId late = fixture.other("a");
  fixture.ack(fixture.a, fixture.held);
  CHECK(fixture.fetch(fixture.a, "a", {"a"}) == late);
  const auto got = fixture.got(fixture.waiting);
  REQUIRE(got == fixture.ready);
  fixture.ack(fixture.waiting, *got);
  CHECK(fixture.fetch(fixture.a, "a", {"a"}) == passed_over);
}

TEST_CASE("type throttle: queues that wait for a type take turns") {
  Mail fixture;
  const ClientId holder = fixture.client();
  JobId held = fixture.mail("a");
  CHECK(fixture.fetch(holder, "h", {"a"}) == held);
  std::vector<ClientId> waiting;
  for (const char* const queue : {"a", "b", "c"}) {
    fixture.mail(queue);
    fixture.mail(queue);
    waiting.push_back(fixture.client());
    CHECK(fixture.wait_for(waiting.back(), {queue}, queue));
  }
  fixture.ack(holder, held);
  for (const ClientId client : waiting) {
    const auto id = fixture.got(client);
    REQUIRE(id);
    CHECK(fixture.taken() == 1);
    fixture.ack(client, *id);
  }
}

TEST_CASE("type throttle: a queue without clients does not keep the slot from the others") {
  Mail fixture;
  const ClientId holder = fixture.client();
  const JobId held = fixture.mail("a");
  CHECK(fixture.fetch(holder, "h", {"a"}) == held);
  fixture.mail("a");
  CHECK_FALSE(fixture.fetch(holder, "h", {"a"}));
  fixture.mail("b");
  const ClientId waiting = fixture.client();
  CHECK(fixture.wait_for(waiting, {"b"}, "w"));
  fixture.ack(holder, held);
  CHECK(fixture.got(waiting));
}

TEST_CASE("type throttle: a paused queue does not keep the slot from the others") {
  Mail fixture;
  const ClientId holder = fixture.client();
  const JobId held = fixture.mail("a");
  CHECK(fixture.fetch(holder, "h", {"a"}) == held);
  const ClientId first = fixture.client();
  const ClientId second = fixture.client();
  fixture.mail("a");
  CHECK(fixture.wait_for(first, {"a"}, "w"));
  fixture.mail("b");
  CHECK(fixture.wait_for(second, {"b"}, "w"));
  CHECK(fixture.broker.admin().pause("a", std::nullopt, fixture.now));
  fixture.ack(holder, held);
  CHECK_FALSE(fixture.got(first));
  const auto id = fixture.got(second);
  REQUIRE(id);
  CHECK(fixture.broker.admin().pause("a", 0, fixture.now));
  CHECK_FALSE(fixture.got(first));
  fixture.ack(second, *id);
  CHECK(fixture.got(first));
}

// ---- jobs that wait for their type --------------------------------------------------------------

TEST_CASE("type throttle: jobs that wait are removed, killed and moved as all others") {
  Mail fixture;
  const ClientId client = fixture.client();
  const JobId held = fixture.mail();
  const JobId second = fixture.mail();
  const JobId third = fixture.mail();
  CHECK(fixture.fetch(client, "w") == held);
  CHECK_FALSE(fixture.fetch(client, "w"));
  CHECK(fixture.broker.connections().remove(client, second, fixture.now));
  CHECK(fixture.broker.connections().reserve_job(client, third, fixture.now));
  CHECK(fixture.broker.view().queues().find("default")->lines == nullptr);
  // A pushed job that is released comes last.
  const JobId fourth = fixture.mail();
  CHECK_FALSE(fixture.fetch(client, "w"));
  CHECK(fixture.broker.connections().release(client, third, 0, 0, fixture.now));
  fixture.ack(client, held);
  CHECK(fixture.fetch(client, "w") == fourth);
  CHECK(fixture.broker.admin().change_held(fourth, Mutation::Action::kDiscard, fixture.now));
  CHECK(fixture.fetch(client, "w") == third);
}

TEST_CASE("type throttle: a fetch that is undone brings the job back to its place") {
  Mail fixture;
  const ClientId client = fixture.worker("w");
  const JobId first = fixture.mail();
  const JobId second = fixture.mail();
  const JobId other = fixture.other();
  CHECK(fixture.fetch(client, "w") == first);
  // The second is passed over, and what comes back is before it.
  CHECK(fixture.fetch(client, "w") == other);
  CHECK(fixture.broker.workers().undo_fetch(first, fixture.now, fixture.now));
  CHECK(fixture.taken() == 0);
  CHECK(fixture.fetch(client, "w") == first);
  fixture.ack(client, first);
  CHECK(fixture.fetch(client, "w") == second);
}

TEST_CASE("type throttle: a queue with jobs that wait is removed") {
  Mail fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w", {"a"}) == std::nullopt);
  const JobId held = fixture.mail("a");
  for (int i = 0; i < 3; ++i) fixture.mail("a");
  CHECK(fixture.fetch(client, "w", {"a"}) == held);
  CHECK_FALSE(fixture.fetch(client, "w", {"a"}));
  static_cast<void>(fixture.broker.admin().remove_queues(fixture.client(), {"a"}, fixture.now));
  fixture.settle();
  fixture.ack(client, held);
  fixture.settle();
  CHECK(fixture.broker.view().queues().find("a") == nullptr);
  CHECK(fixture.throttle("type:Mail").groups == 0);
  CHECK(fixture.throttle("type:Mail").parked.empty());
}

TEST_CASE("type throttle: jobs that expire in front of the line are not handed out") {
  Mail fixture;
  NewJob job{.kind = JobKind::kWorkUnit, .queue = "default", .ttr_s = 60};
  job.features = JobFeatures{.expires_at = fixture.now + 5s};
  const JobId expiring = fixture.put("type=Other,", std::move(job));
  const JobId live = fixture.mail();
  fixture.now += 6s;
  CHECK(fixture.fetch(fixture.client(), "w") == live);
  CHECK_FALSE(fixture.has(expiring));
}

TEST_CASE("type throttle: many jobs of a full type are passed over in slices") {
  Mail fixture;
  const ClientId client = fixture.client();
  const JobId held = fixture.mail();
  CHECK(fixture.fetch(client, "w") == held);
  for (std::size_t i = 0; i < 3 * kSliceJobs; ++i) fixture.mail();
  const JobId other = fixture.other();
  const ClientId waiting = fixture.client();
  CHECK(fixture.wait_for(waiting, {"default"}, "w"));
  CHECK_FALSE(fixture.delivered(waiting));
  CHECK(fixture.got(waiting) == other);
}

// ---- changes ------------------------------------------------------------------------------------

TEST_CASE("type throttle: who asks again without waiting gets the job after those passed over") {
  Mail fixture;
  for (int i = 0; i < 5 * static_cast<int>(kSliceJobs); ++i) fixture.mail();
  const JobId other = fixture.other();
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w"));
  CHECK_FALSE(fixture.fetch(client, "w"));
  fixture.settle();
  CHECK(fixture.fetch(client, "w") == other);
}

TEST_CASE("type throttle: where the limit is lowered, running jobs finish") {
  Mail fixture({.concurrency = 3, .timeout_s = 60});
  const ClientId client = fixture.worker("w");
  std::vector<JobId> held;
  for (int i = 0; i < 5; ++i) fixture.mail();
  for (int i = 0; i < 3; ++i) held.push_back(fixture.fetch(client, "w").value());
  fixture.limit_mail(kOneMail);
  CHECK(fixture.taken() == 3);
  for (const JobId id : held) {
    CHECK_FALSE(fixture.fetch(client, "w"));
    fixture.ack(client, id);
  }
  CHECK(fixture.fetch(client, "w"));
}

TEST_CASE("type throttle: jobs that run when a limit comes are counted, in slices") {
  Mail fixture;
  fixture.limit(std::vector<ThrottleRule>{});
  const ClientId client = fixture.worker("w");
  const std::uint32_t many = 2 * kSliceJobs + 1;
  for (std::uint32_t i = 0; i < many + 2; ++i) fixture.mail();
  for (std::uint32_t i = 0; i < many; ++i) CHECK(fixture.fetch(client, "w"));
  const JobId other = fixture.other("b");
  const ThrottleLimits limits{.concurrency = many + 1, .timeout_s = 60};
  fixture.broker.admin().set_throttle_rules(rules_of({{.pattern = "type:Mail", .limits = limits}}),
                                            fixture.now);
  // Until all are counted no job of the type is handed out.
  CHECK_FALSE(fixture.fetch(client, "w"));
  CHECK(fixture.fetch(client, "w", {"b"}) == other);
  fixture.settle();
  CHECK(fixture.taken() == many);
  CHECK(fixture.fetch(client, "w"));
  CHECK_FALSE(fixture.fetch(client, "w"));
}

TEST_CASE("type throttle: after a restart a type is full of the jobs that workers hold") {
  Mail before;
  before.mail();
  before.mail("b");
  CHECK(before.fetch(before.worker("a"), "a"));
  const std::string batch = before.ledger.take_batch();
  BrokerFixture after;
  after.now = before.now;
  CHECK(after.ledger.replay(batch, 0));
  after.broker.admin().set_throttle_rules(rules_of({{.pattern = "type:Mail", .limits = kOneMail}}),
                                          after.now);
  CHECK_FALSE(after.fetch(after.client(), "b", {"b"}));
  // The worker does not come back.
  after.advance(60s);
  CHECK(after.fetch(after.client(), "b", {"b"}));
}

TEST_CASE("type throttle: limits that an operator set are there after a restart") {
  Mail before;
  CHECK(before.broker.admin().set_throttle("type:Other", kOneMail, before.now));
  before.other();
  before.other();
  const std::string batch = before.ledger.take_batch();
  BrokerFixture after;
  after.now = before.now;
  CHECK(after.ledger.replay(batch, 0));
  after.broker.admin().set_throttle_rules({}, after.now);
  const ClientId client = after.client();
  CHECK(after.fetch(client, "b"));
  CHECK_FALSE(after.fetch(client, "b"));
  CHECK(after.broker.admin().remove_throttle("type:Other", after.now));
  after.settle();
  CHECK(after.fetch(client, "b"));
}

// ---- rates --------------------------------------------------------------------------------------

TEST_CASE("type throttle: so many jobs of a type begin in so long") {
  Mail fixture({.rate_count = 1, .rate_s = 10});
  fixture.mail("a");
  fixture.mail("b");
  const JobId other = fixture.other("b");
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w", {"a"}));
  CHECK(fixture.fetch(client, "w", {"b"}) == other);
  const ClientId waiting = fixture.client();
  CHECK(fixture.wait_for(waiting, {"b"}, "w"));
  fixture.advance(9999ms);
  CHECK_FALSE(fixture.got(waiting));
  fixture.advance(1ms);
  CHECK(fixture.got(waiting));
}

TEST_CASE("type throttle: the tokens of a type are there after a restart") {
  constexpr ThrottleLimits kRate{.rate_count = 1, .rate_s = 10};
  Mail before(kRate);
  before.mail();
  before.mail();
  CHECK(before.fetch(before.client(), "a"));
  const std::string batch = before.ledger.take_batch();
  BrokerFixture after;
  after.now = before.now;
  CHECK(after.ledger.replay(batch, 0));
  after.broker.admin().set_throttle_rules(rules_of({{.pattern = "type:Mail", .limits = kRate}}),
                                          after.now);
  CHECK_FALSE(after.fetch(after.client(), "a"));
  after.advance(10s);
  CHECK(after.fetch(after.client(), "a"));
}

}  // namespace millrace::test
