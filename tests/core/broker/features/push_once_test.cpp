#include "core/broker/features/push_once.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("push once: a push that is sent again is the job that is there") {
  BrokerFixture fixture;
  const JobId id = fixture.push("jid=one,args");
  CHECK(fixture.push("jid=one,args") == id);
  CHECK(fixture.broker.view().orders().count(JobState::kReady) == 1);
  CHECK(fixture.broker.view().tally().jobs_put == 1);
  CHECK(fixture.broker.view().tally().pushes_repeated == 1);
}

TEST_CASE("push once: while a job is reserved, scheduled or retrying it lives") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId held = fixture.push("jid=held");
  CHECK(fixture.fetch(client, "w") == held);
  CHECK(fixture.push("jid=held") == held);
  const JobId later = fixture.schedule("jid=later", 1h);
  CHECK(fixture.schedule("jid=later", 1h) == later);
  CHECK(fixture.broker.workers().fail(client, "held", {}, fixture.now));
  CHECK(fixture.state(held) == JobState::kRetrying);
  CHECK(fixture.push("jid=held") == held);
}

TEST_CASE("push once: another body, another queue and another name are other jobs") {
  BrokerFixture fixture;
  const JobId id = fixture.push("jid=one,a");
  const JobId body = fixture.push("jid=one,b");
  const JobId queue = fixture.push("jid=one,a", "other");
  const JobId name = fixture.push("jid=two,a");  // of the same hash
  CHECK(fixture.broker.view().orders().count(JobState::kReady) == 4);
  CHECK(fixture.push("jid=one,a") == id);
  CHECK(fixture.push("jid=one,b") == body);
  CHECK(fixture.push("jid=one,a", "other") == queue);
  CHECK(fixture.push("jid=two,a") == name);
}

TEST_CASE("push once: what has no name, and what was put, is new each time") {
  BrokerFixture fixture;
  CHECK(fixture.push("x") != fixture.push("x"));
  const JobId put = fixture.put("jid=one");
  CHECK(fixture.put("jid=one") != put);
  CHECK(fixture.push("jid=one") != put);
}

TEST_CASE("push once: after its end, and after its death, the job is pushed anew") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId done = fixture.push("jid=done");
  CHECK(fixture.fetch(client, "w") == done);
  CHECK(fixture.broker.workers().ack(client, "done", fixture.now));
  CHECK(fixture.push("jid=done") != done);
  const JobId dead = fixture.push_dead("jid=dead");
  const JobId again = fixture.push("jid=dead");
  CHECK(again != dead);
  CHECK(fixture.push("jid=dead") == again);
}

TEST_CASE("push once: a job that has expired is not the same, though it is not removed yet") {
  BrokerFixture fixture;
  const auto push = [&](std::string_view body, std::optional<JobFeatures> features) {
    return fixture.put(body, {.kind = JobKind::kWorkUnit,
                              .queue = "default",
                              .ttr_s = 60,
                              .features = std::move(features)});
  };
  const JobFeatures expiring{.expires_at = fixture.now + 1s};
  const JobId waiting = push("jid=waiting", expiring);
  const JobId held = push("jid=held", expiring);
  CHECK(push("jid=waiting", std::nullopt) == waiting);
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w") == waiting);
  CHECK(fixture.fetch(client, "w") == held);
  CHECK(fixture.broker.admin().change_held(waiting, Mutation::Action::kRequeue, fixture.now));
  fixture.now += 1s;  // nothing that is due was done
  CHECK(push("jid=waiting", std::nullopt) != waiting);
  CHECK(push("jid=held", std::nullopt) != held);
}

TEST_CASE("push once: a worker may put the job back that it runs") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("jid=one");
  CHECK(fixture.fetch(client, "w1") == id);
  const NewJob same{
      .kind = JobKind::kWorkUnit, .queue = "default", .body = "jid=one", .ttr_s = 1800};
  CHECK(fixture.broker.put(same, fixture.now, "w2").value() == id);
  CHECK(fixture.broker.put(same, fixture.now).value() == id);
  const JobId again = fixture.broker.put(same, fixture.now, "w1").value();
  CHECK(again != id);
  CHECK(fixture.broker.workers().ack(client, "one", fixture.now));
  CHECK(fixture.state(again) == JobState::kReady);
}

TEST_CASE("push once: only the newest namesakes are looked at") {
  BrokerFixture fixture;
  const JobId first = fixture.push("jid=one,first");
  for (std::size_t i = 1; i < PushOnce::kNamesakesMax; ++i) {
    fixture.push("jid=one," + std::to_string(i));
  }
  CHECK(fixture.push("jid=one,first") == first);
  fixture.push("jid=one,last");
  CHECK(fixture.push("jid=one,first") != first);
}

TEST_CASE("push once: of long bodies one is compared, if it may be the same by its length") {
  BrokerFixture fixture;
  const std::string tail(WorkUnitFormat::kComparedBytesMax, 'x');
  const JobId first = fixture.push("jid=one,a" + tail);
  CHECK(fixture.push("jid=one,a" + tail) == first);
  // Much longer, and much shorter: they are not looked at.
  fixture.push("jid=one,b" + tail + std::string(PushOnce::kLongBodiesDifferMax + 1, 'x'));
  fixture.push("jid=one,c");
  CHECK(fixture.push("jid=one,a" + tail) == first);
  fixture.push("jid=one,d" + tail);
  CHECK(fixture.push("jid=one,a" + tail) != first);
}

// ---- after the end ------------------------------------------------------------------------------

namespace {

/// A broker that knows pushes for a minute after the ends of their jobs.
struct Remembering : BrokerFixture {
  Remembering() : BrokerFixture(options()) {}
  static Broker::Options options() { return {.pushes = {.after_end = 60s}}; }

  JobId done(const std::string& jid, std::string_view queue = "default") {
    const JobId id = push("jid=" + jid, queue);
    CHECK(fetch(worker, "w", {queue}) == id);
    CHECK(broker.workers().ack(worker, jid, now));
    return id;
  }
  [[nodiscard]] std::size_t remembered() const { return ledger.store().ended_pushes().size(); }
  [[nodiscard]] std::size_t ready() const { return broker.view().orders().count(JobState::kReady); }

  ClientId worker = client();
};

}  // namespace

TEST_CASE_FIXTURE(Remembering, "push once: a push is known for so long after the end of its job") {
  const JobId id = done("one");
  advance(59s);
  CHECK(push("jid=one") == id);
  CHECK(ready() == 0);
  CHECK(broker.view().tally().pushes_repeated == 1);
  advance(1s);
  CHECK(remembered() == 0);
  CHECK(push("jid=one") != id);
  CHECK(ready() == 1);
}

TEST_CASE_FIXTURE(Remembering, "push once: however the job ended, its push is known") {
  const JobId deleted = push("jid=deleted");
  CHECK(broker.connections().remove(client(), deleted, now));
  CHECK(push("jid=deleted") == deleted);
  const JobId dead = push_dead("jid=dead");
  static_cast<void>(broker.admin().mutate(client(), {.set = JobState::kDead}, now));
  settle();
  CHECK(push("jid=dead") == dead);
  CHECK(ready() == 0);
}

TEST_CASE_FIXTURE(Remembering,
                  "push once: after an end too, another body or queue is another job") {
  done("one");
  push("jid=one,more");
  push("jid=one", "other");
  CHECK(ready() == 2);
}

TEST_CASE_FIXTURE(Remembering, "push once: what was put is not remembered") {
  const JobId id = put("jid=one");
  CHECK(reserve(worker) == id);
  CHECK(broker.connections().remove(worker, id, now));
  CHECK(remembered() == 0);
}

TEST_CASE_FIXTURE(Remembering, "push once: a job that its worker puts back twice is not lost") {
  const NewJob same{
      .kind = JobKind::kWorkUnit, .queue = "default", .body = "jid=one", .ttr_s = 1800};
  push("jid=one");
  for (int i = 0; i < 3; ++i) {
    CHECK(fetch(worker, "w"));
    CHECK(broker.put(same, now, "w"));
    CHECK(broker.workers().ack(worker, "one", now));
    CHECK(ready() == 1);
  }
}

TEST_CASE_FIXTURE(Remembering, "push once: a restart with other rules forgets what is too old") {
  done("one");
  Broker other(ledger, format, {.pushes = {.after_end = 30s}});
  CHECK(other.tick(now + 29s) == now + 30s);
  CHECK(remembered() == 1);
  static_cast<void>(other.tick(now + 30s));
  CHECK(remembered() == 0);
  done("two");
  Broker forgetful(ledger, format, {});
  static_cast<void>(forgetful.tick(now));
  CHECK(remembered() == 0);
}

TEST_CASE_FIXTURE(Remembering, "push once: FLUSH forgets all, in slices, but what ends later") {
  for (int i = 0; i < 1500; ++i) done(std::to_string(i));
  static_cast<void>(broker.admin().flush(client(), now));
  CHECK(remembered() > 0);
  settle();
  CHECK(remembered() == 0);
  const JobId id = done("1");
  CHECK(push("jid=1") == id);
}

TEST_CASE_FIXTURE(Remembering, "push once: FLUSH forgets all, also where the clock was set back") {
  done("one");
  now -= 1h;
  static_cast<void>(broker.admin().flush(client(), now));
  settle();
  CHECK(remembered() == 0);
}

TEST_CASE_FIXTURE(Remembering, "push once: while the log must not grow, ends are not remembered") {
  push("jid=one");
  CHECK(fetch(worker, "w"));
  broker.set_admission(Admission::kEndingsOnly);
  CHECK(broker.workers().ack(worker, "one", now));
  CHECK(remembered() == 0);
}

TEST_CASE("push once: switched off, each push is a job") {
  BrokerFixture fixture(Broker::Options{.pushes = {.is_on = false}});
  CHECK(fixture.push("jid=one") != fixture.push("jid=one"));
  CHECK(fixture.broker.view().tally().pushes_repeated == 0);
}

TEST_CASE("push once: a push that is sent again is answered though there is no room for others") {
  BrokerFixture fixture;
  const JobId id = fixture.push("jid=one");
  fixture.broker.set_admission(Admission::kEndingsOnly);
  CHECK(fixture.push("jid=one") == id);
}

}  // namespace millrace::test
