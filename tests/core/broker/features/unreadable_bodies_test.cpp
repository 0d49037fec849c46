#include "core/broker/features/unreadable_bodies.hpp"

#include "core/spilling_broker.hpp"

namespace millrace::test {
namespace {

constexpr std::string_view kBody = "a body that only the log has";

/// Three jobs, of which the log does not give the first.
struct Spoiled {
  explicit Spoiled(std::size_t bytes_max = 0) : broker(bytes_max) {
    for (JobId id = 1; id <= 3; ++id) CHECK(broker.put(kBody) == id);
    broker.spoil(1);
  }

  [[nodiscard]] const Job& job(JobId id) { return *fixture.ledger.store().jobs().find(id); }
  [[nodiscard]] bool is_marked() { return job(1).has_mark(job_marks::kBodyUnreadable); }
  [[nodiscard]] bool is_dead_for_it() {
    const Failure* const failure = job(1).failure();
    return job(1).state == JobState::kDead && is_marked() && failure != nullptr &&
           failure->errtype == "BodyUnreadable" &&
           failure->message == "body unreadable: unreadable";
  }
  void mend() { broker.log.bad_at.reset(); }

  SpillingBroker broker;
  BrokerFixture& fixture = broker.fixture;
};

}  // namespace

TEST_CASE("unreadable body: a client gets the next job, and the job is dead with the reason") {
  Spoiled spoiled;
  CHECK(spoiled.fixture.reserve(spoiled.fixture.client()) == 2);
  CHECK(spoiled.is_dead_for_it());
  CHECK(spoiled.fixture.broker.view().tally().bodies_unreadable == 1);
  CHECK(spoiled.fixture.broker.view().jobs().unreadable_count() == 1);
  CHECK(spoiled.fixture.broker.connections().remove(0, 1, spoiled.fixture.now));
  CHECK(spoiled.fixture.broker.view().jobs().unreadable_count() == 0);
}

TEST_CASE("unreadable body: a client that waits gets the next job") {
  Spoiled spoiled;
  BrokerFixture& fixture = spoiled.fixture;
  CHECK(fixture.broker.admin().pause("default", std::nullopt, fixture.now));
  const ClientId client = fixture.client();
  CHECK(fixture.wait(client));
  CHECK(fixture.broker.admin().pause("default", 0, fixture.now));
  CHECK(fixture.delivered(client)->job == 2);
  CHECK(spoiled.is_dead_for_it());
}

TEST_CASE("unreadable body: that very job is not reserved") {
  Spoiled spoiled;
  BrokerFixture& fixture = spoiled.fixture;
  CHECK_FALSE(fixture.broker.connections().reserve_job(fixture.client(), 1, fixture.now));
  CHECK(spoiled.is_dead_for_it());
}

TEST_CASE("unreadable body: whoever looks at the job sees it without, and then it is dead") {
  Spoiled spoiled;
  CHECK_FALSE(spoiled.fixture.broker.view().jobs().find(1)->has_body());
  CHECK(spoiled.job(1).state == JobState::kReady);
  spoiled.fixture.settle();
  CHECK(spoiled.is_dead_for_it());
}

TEST_CASE("unreadable body: many in a row are found in slices, and a client waits meanwhile") {
  SpillingBroker small(0);
  constexpr JobId kJobs = 3 * kUnreadableInARow;
  for (JobId id = 1; id <= kJobs; ++id) small.put(kBody);
  small.log.is_broken = true;
  const ClientId client = small.fixture.client();
  CHECK(small.fixture.wait(client));
  CHECK(small.fixture.broker.view().orders().count(JobState::kDead) == kUnreadableInARow + 1);
  small.fixture.settle();
  CHECK(small.fixture.broker.view().orders().count(JobState::kDead) == kJobs);
  small.log.is_broken = false;
  CHECK(small.fixture.broker.connections().kick_job(5, small.fixture.now));
  CHECK(small.fixture.delivered(client)->job == 5);
}

TEST_CASE("unreadable body: when a worker's reservation ends, the job is dead and others are not") {
  SpillingBroker small(0);
  const JobId id = small.fixture.push(kBody);
  small.append();
  const ClientId worker = small.fixture.client();
  CHECK(small.fixture.fetch(worker, "w") == id);
  // Others take its place in memory.
  for (int i = 0; i < 3; ++i) small.put(kBody);
  small.fixture.ledger.store().jobs().bodies().spill(small.fixture.job(id));
  small.spoil(id);
  small.fixture.advance(1900s);
  const Job& job = *small.fixture.ledger.store().jobs().find(id);
  CHECK(job.state == JobState::kDead);
  CHECK(job.failure()->errtype == "BodyUnreadable");
  CHECK(small.fixture.broker.view().tally().reservations_expired == 1);
}

TEST_CASE("unreadable body: a job that runs goes on, and ends as it ends") {
  Spoiled spoiled;
  BrokerFixture& fixture = spoiled.fixture;
  spoiled.mend();
  const ClientId client = fixture.client();
  CHECK(fixture.reserve(client) == 1);
  fixture.ledger.store().jobs().bodies().spill(spoiled.job(1));
  spoiled.broker.log.is_broken = true;
  CHECK_FALSE(fixture.broker.view().jobs().find(1)->has_body());
  fixture.settle();
  CHECK(spoiled.job(1).state == JobState::kReserved);
  CHECK(spoiled.is_marked());
  spoiled.broker.log.is_broken = false;
  spoiled.broker.spoil(1);
  SUBCASE("well") {
    CHECK(fixture.broker.connections().remove(client, 1, fixture.now));
  }
  SUBCASE("to run again, which it cannot: it is dead at once") {
    SUBCASE("released") {
      CHECK(fixture.broker.connections().release(client, 1, 0, 0, fixture.now));
    }
    SUBCASE("released with a delay") {
      CHECK(fixture.broker.connections().release(client, 1, 0, 10, fixture.now));
    }
    SUBCASE("of a client that has left") {
      fixture.broker.disconnect(client, fixture.now);
    }
    SUBCASE("of a reservation that is over") {
      fixture.advance(3600s);
    }
    fixture.settle();
    CHECK(spoiled.is_dead_for_it());
    CHECK(fixture.reserve(fixture.client()) == 2);
  }
  SUBCASE("to run again with its body, which can be read by now") {
    spoiled.mend();
    CHECK(fixture.broker.connections().release(client, 1, 0, 0, fixture.now));
    CHECK_FALSE(spoiled.is_marked());
    CHECK(fixture.reserve(client) == 1);
  }
}

TEST_CASE("unreadable body: the job comes back when its body can be read, and not before") {
  Spoiled spoiled;
  BrokerFixture& fixture = spoiled.fixture;
  CHECK(fixture.reserve(fixture.client()) == 2);
  CHECK_FALSE(fixture.broker.connections().kick_job(1, fixture.now));
  const auto refused = fixture.broker.admin().change(1, Mutation::Action::kRequeue, fixture.now);
  CHECK(refused.error() == Refusal::kUnreadable);
  CHECK(fixture.broker.admin().change(1, Mutation::Action::kMove, fixture.now, "b").error() ==
        Refusal::kUnreadable);
  spoiled.mend();
  CHECK(fixture.broker.connections().kick_job(1, fixture.now));
  CHECK_FALSE(spoiled.is_marked());
  CHECK(fixture.reserve(fixture.client()) == 1);
  CHECK(fixture.job(1).body_view() == kBody);
}

TEST_CASE("unreadable body: compaction waits for the mark, and writes the job without its body") {
  Spoiled spoiled;
  BrokerFixture& fixture = spoiled.fixture;
  fixture.ledger.rewrite(~Lsn{0}, ~std::size_t{0});
  CHECK(spoiled.job(1).log.place.is_in_log());
  CHECK(spoiled.job(1).state == JobState::kReady);
  fixture.broker.see_to_missing_bodies(fixture.now);
  CHECK(spoiled.is_dead_for_it());
  fixture.ledger.rewrite(~Lsn{0}, ~std::size_t{0});
  spoiled.broker.append();
  CHECK(spoiled.is_dead_for_it());
  CHECK(spoiled.job(1).body_bytes == 0);
  spoiled.mend();
  CHECK_FALSE(fixture.broker.connections().kick_job(1, fixture.now));
  for (const JobId id : {2, 3}) CHECK(fixture.broker.view().jobs().find(id)->body_view() == kBody);
  CHECK(spoiled.broker.tell_replayed() == tell(fixture.broker.view()));
}

TEST_CASE("unreadable body: compaction writes the body where it can be read by now") {
  Spoiled spoiled;
  BrokerFixture& fixture = spoiled.fixture;
  CHECK(fixture.reserve(fixture.client()) == 2);
  spoiled.broker.append();
  spoiled.mend();
  fixture.ledger.rewrite(~Lsn{0}, ~std::size_t{0});
  spoiled.broker.append();
  CHECK(fixture.broker.connections().kick_job(1, fixture.now));
  CHECK(fixture.job(1).body_view() == kBody);
}

TEST_CASE("unreadable body: what the system fails to read is damage after another try") {
  Spoiled spoiled;
  BrokerFixture& fixture = spoiled.fixture;
  const Bodies& bodies = fixture.ledger.store().jobs().bodies();
  SUBCASE("what was read and is wrong is at once") {
    CHECK(fixture.reserve(fixture.client()) == 2);
    CHECK(bodies.damage_end() == spoiled.job(1).body_at() + kBody.size());
  }
  spoiled.broker.log.is_passing = true;
  SUBCASE("which fails") {
    CHECK(fixture.reserve(fixture.client()) == 2);
    CHECK(bodies.damage_end() == 0);
    spoiled.broker.append();
    fixture.advance(kReadAgainAfter);
    CHECK(bodies.damage_end() > 0);
    // An idle server, too, writes something: the log can begin a new segment.
    CHECK(fixture.ledger.has_batch());
    spoiled.broker.append();
    fixture.ledger.rewrite(~Lsn{0}, ~std::size_t{0});
    fixture.settle();
    CHECK(spoiled.job(1).body_bytes == 0);
    CHECK_FALSE(bodies.is_awaited());
  }
  SUBCASE("and is none if that goes well") {
    CHECK(fixture.reserve(fixture.client()) == 2);
    spoiled.mend();
    fixture.advance(kReadAgainAfter);
    CHECK(bodies.damage_end() == 0);
  }
  SUBCASE("and not while no other body can be read either: the disk is away") {
    spoiled.broker.log.is_broken = true;
    CHECK_FALSE(fixture.reserve(fixture.client()));
    for (int i = 1; i < kReadAgainMax; ++i) fixture.advance(kReadAgainAfter);
    CHECK(bodies.damage_end() == 0);
    CHECK(bodies.is_awaited());
    spoiled.broker.log.is_broken = false;
    spoiled.mend();
    fixture.advance(kReadAgainAfter);
    CHECK_FALSE(bodies.is_awaited());
    const ClientId client = fixture.client();
    for (const JobId id : {1, 2, 3}) CHECK(fixture.reserve(client) == id);
  }
  SUBCASE("and is in the end, since compaction cannot wait for ever") {
    spoiled.broker.log.is_broken = true;
    CHECK_FALSE(fixture.reserve(fixture.client()));
    for (int i = 0; i < kReadAgainMax; ++i) fixture.advance(kReadAgainAfter);
    CHECK(bodies.damage_end() > 0);
    CHECK_FALSE(bodies.is_awaited());
  }
}

TEST_CASE("unreadable body: what the system fails to read changes nothing for those who look") {
  Spoiled spoiled;
  spoiled.broker.log.is_passing = true;
  CHECK_FALSE(spoiled.fixture.broker.view().jobs().find(1)->has_body());
  spoiled.fixture.settle();
  CHECK(spoiled.job(1).state == JobState::kReady);
  CHECK_FALSE(spoiled.is_marked());
  CHECK(spoiled.fixture.broker.view().tally().bodies_unreadable == 1);
  SUBCASE("but on a full disk, which cannot wait for it") {
    spoiled.fixture.broker.set_admission(Admission::kNoJobs);
    spoiled.broker.log.is_broken = true;
    CHECK_FALSE(spoiled.fixture.broker.view().jobs().find(2)->has_body());
    spoiled.fixture.settle();
    CHECK(spoiled.job(2).state == JobState::kDead);
  }
}

TEST_CASE("unreadable body: a job that was to run is ready again in its place, as it was") {
  Spoiled spoiled;
  BrokerFixture& fixture = spoiled.fixture;
  spoiled.broker.log.is_passing = true;
  const ClientId client = fixture.client();
  CHECK(fixture.reserve(client) == 2);
  CHECK(spoiled.is_dead_for_it());
  spoiled.mend();
  SUBCASE("and a client that asks gets it first") {
    fixture.advance(kReadAgainAfter);
    CHECK_FALSE(spoiled.is_marked());
    CHECK(spoiled.job(1).failure() == nullptr);
    CHECK(fixture.reserve(client) == 1);
  }
  SUBCASE("and a client that waits has it") {
    CHECK(fixture.reserve(client) == 3);
    const ClientId other = fixture.client();
    CHECK(fixture.wait(other));
    fixture.advance(kReadAgainAfter);
    CHECK(fixture.delivered(other)->job == 1);
  }
  SUBCASE("unless a person was faster") {
    fixture.advance(kReadAgainAfter / 2);
    CHECK(fixture.broker.connections().kick_job(1, fixture.now));
    CHECK(fixture.reserve(client) == 1);
    fixture.advance(kReadAgainAfter / 2);
    CHECK(spoiled.job(1).state == JobState::kReserved);
  }
  SUBCASE("unless it was killed since") {
    CHECK(fixture.broker.connections().kick_job(1, fixture.now));
    CHECK(fixture.broker.admin().change(1, Mutation::Action::kKill, fixture.now));
    fixture.advance(kReadAgainAfter);
    CHECK(spoiled.job(1).state == JobState::kDead);
  }
  SUBCASE("unless compaction had to write it without") {
    fixture.broker.set_admission(Admission::kNoJobs);
    spoiled.broker.spoil(1);
    fixture.ledger.rewrite(~Lsn{0}, ~std::size_t{0});
    spoiled.broker.append();
    CHECK(spoiled.job(1).body_bytes == 0);
    fixture.advance(kReadAgainAfter);
    CHECK(spoiled.job(1).state == JobState::kDead);
    CHECK_FALSE(fixture.ledger.store().jobs().bodies().is_awaited());
  }
  SUBCASE("unless it is gone") {
    CHECK(fixture.broker.connections().remove(0, 1, fixture.now));
    fixture.advance(kReadAgainAfter);
    CHECK_FALSE(fixture.ledger.store().jobs().bodies().is_awaited());
  }
}

TEST_CASE("unreadable body: jobs that may come back are counted until they do, or are given up") {
  Spoiled spoiled;
  BrokerFixture& fixture = spoiled.fixture;
  const Tally& tally = fixture.broker.view().tally();
  spoiled.broker.log.is_passing = true;
  CHECK(fixture.reserve(fixture.client()) == 2);
  CHECK_FALSE(fixture.broker.connections().reserve_job(fixture.client(), 1, fixture.now));
  CHECK(tally.jobs_set_aside == 1);
  SUBCASE("ready again") {
    spoiled.mend();
  }
  SUBCASE("damage") {}
  SUBCASE("gone") {
    CHECK(fixture.broker.connections().remove(0, 1, fixture.now));
  }
  fixture.advance(kReadAgainAfter);
  CHECK(tally.jobs_set_aside == 0);
}

TEST_CASE("unreadable body: a pushed job without it is not among the dead that are purged") {
  SpillingBroker small(0);
  for (int i = 0; i < 3; ++i) small.fixture.push(kBody);
  small.append();
  for (JobId id = 1; id <= 3; ++id) {
    small.fixture.ledger.store().jobs().bodies().spill(small.fixture.job(id));
  }
  small.log.is_broken = true;
  CHECK_FALSE(small.fixture.fetch(small.fixture.client(), "w"));
  const JobOrders& orders = small.fixture.ledger.store().jobs().orders();
  CHECK(orders.count(JobState::kDead) == 3);
  CHECK(orders.dead_work_units().empty());
}

TEST_CASE("unreadable body: on a full disk the job is dead without a text") {
  Spoiled spoiled;
  spoiled.fixture.broker.set_admission(Admission::kNoGrowth);
  CHECK(spoiled.fixture.reserve(spoiled.fixture.client()) == 2);
  CHECK(spoiled.job(1).state == JobState::kDead);
  CHECK(spoiled.job(1).failure() == nullptr);
}

TEST_CASE("unreadable body: a dead job keeps what it died of in its reason") {
  SpillingBroker small(0);
  const JobId id = small.fixture.push("retry=-1");
  const ClientId worker = small.fixture.client();
  CHECK(small.fixture.fetch(worker, "w") == id);
  CHECK(small.fixture.broker.workers().fail(
      worker, "j1", {.errtype = "E", .message = "m", .backtrace = {}}, small.fixture.now));
  small.append();
  small.spoil(id);
  CHECK_FALSE(small.fixture.broker.view().jobs().find(id)->has_body());
  const Time died = small.fixture.ledger.store().jobs().find(id)->when;
  small.fixture.settle();
  const Job& job = *small.fixture.ledger.store().jobs().find(id);
  CHECK(job.when == died);
  CHECK(job.failure()->message == "body unreadable: unreadable; before that, E: m");
}

}  // namespace millrace::test
