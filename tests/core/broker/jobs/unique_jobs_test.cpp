#include <algorithm>
#include <optional>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

constexpr LockKey kKey{.high = 1, .low = 2};

struct Unique : BrokerFixture {
  ClientId worker = client();

  Answer<JobId> push(Duration lasts = 60s, bool until_start = false, Duration in = {},
                     UniqueConflict conflict = UniqueConflict::kRefuse,
                     std::string_view body = "") {
    NewJob job{.kind = JobKind::kWorkUnit, .queue = "default", .body = body, .ttr_s = 60};
    if (in > Duration{}) job.due = now + in;
    job.features = JobFeatures{
        .lock_key = kKey,
        .lock_ends = now + in + lasts,
        .lock_seconds = static_cast<float>(std::chrono::duration<double>(lasts).count()),
        .locks_until_start = until_start};
    job.conflict = conflict;
    return broker.put(job, now);
  }
  JobId pushed(Duration lasts = 60s, bool until_start = false) {
    const auto id = push(lasts, until_start);
    REQUIRE(id);
    return *id;
  }
  bool is_refused() {
    const auto id = push();
    return !id && id.error() == Refusal::kNotUnique;
  }
  void fetch_first() { REQUIRE(fetch(worker, "w")); }
  std::string name(JobId id) { return format.identify(job(id)).jid; }
  bool holds(JobId id) { return job(id).has_mark(job_marks::kHoldsLock) && !job(id).lends_lock(); }
  std::size_t lock_count() { return ledger.store().jobs().locks().size(); }
};

TEST_CASE(
    "unique: a second job is refused while the first one has the lock, and after ACK it is not") {
  Unique unique;
  const JobId first = unique.pushed();
  CHECK(unique.is_refused());
  unique.fetch_first();
  CHECK(unique.is_refused());
  REQUIRE(unique.broker.workers().ack(unique.worker, unique.name(first), unique.now));
  CHECK(unique.lock_count() == 0);
  CHECK(unique.push());
}

TEST_CASE("unique: locks that were taken and denied are counted") {
  Unique unique;
  const JobId first = unique.pushed();
  CHECK(unique.is_refused());
  CHECK(unique.push(60s, false, {}, UniqueConflict::kAccept).value() == first);
  CHECK(unique.broker.view().tally().locks_taken == 1);
  CHECK(unique.broker.view().tally().locks_denied == 2);
  CHECK(unique.broker.view().jobs().lock_count() == 1);
}

TEST_CASE("unique: a refused push leaves nothing") {
  Unique unique;
  unique.pushed();
  const std::string before = tell(unique.broker.view());
  CHECK(unique.is_refused());
  CHECK(tell(unique.broker.view()) == before);
}

TEST_CASE("unique: a push that a full disk refuses takes no lock") {
  Unique unique;
  unique.broker.set_admission(Admission::kNoJobs);
  const auto id = unique.push();
  REQUIRE_FALSE(id);
  CHECK(id.error() == Refusal::kNoRoom);
  CHECK(unique.lock_count() == 0);
  unique.broker.set_admission(Admission::kEverything);
  CHECK(unique.push());
}

TEST_CASE(
    "unique: with until start the lock is free once the job is fetched, and FAIL takes it not "
    "back") {
  Unique unique;
  const JobId first = unique.pushed(60s, true);
  unique.fetch_first();
  const JobId second = unique.pushed(60s, true);
  REQUIRE(unique.broker.workers().fail(unique.worker, unique.name(first), {}, unique.now));
  CHECK(unique.is_refused());
  CHECK(unique.holds(second));
}

TEST_CASE("unique: a job that fails keeps the lock, and comes back though it is held") {
  Unique unique;
  const JobId first = unique.pushed(3600s);
  unique.fetch_first();
  REQUIRE(unique.broker.workers().fail(unique.worker, unique.name(first), {}, unique.now));
  CHECK(unique.is_refused());
  unique.advance(60s);
  CHECK(unique.state(first) == JobState::kReady);
  CHECK(unique.is_refused());
}

TEST_CASE(
    "unique: the lock ends with its time, and the next job's lock is not freed by the first's "
    "ACK") {
  Unique unique;
  const JobId first = unique.pushed(1s);
  unique.advance(1s);
  const JobId second = unique.pushed();
  CHECK_FALSE(unique.holds(first));
  unique.fetch_first();
  REQUIRE(unique.broker.workers().ack(unique.worker, unique.name(first), unique.now));
  CHECK(unique.is_refused());
  CHECK(unique.holds(second));
}

TEST_CASE("unique: a scheduled job has the lock until its time and so long after") {
  Unique unique;
  (void)unique.broker.admin().pause("default", std::nullopt, unique.now);
  REQUIRE(unique.push(60s, false, 3600s));
  unique.advance(3659s);
  CHECK(unique.is_refused());
  unique.advance(1s);
  CHECK(unique.push());
}

TEST_CASE("unique: every other end of a job frees its lock") {
  Unique unique;
  SUBCASE("retry 0 and FAIL") {
    const auto id = unique.push(60s, false, {}, UniqueConflict::kRefuse, "retry=0");
    unique.fetch_first();
    REQUIRE(unique.broker.workers().fail(unique.worker, unique.name(*id), {}, unique.now));
    CHECK_FALSE(unique.has(*id));
  }
  SUBCASE("death") {
    const auto id = unique.push(60s, false, {}, UniqueConflict::kRefuse, "retry=-1");
    unique.fetch_first();
    REQUIRE(unique.broker.workers().fail(unique.worker, unique.name(*id), {}, unique.now));
    CHECK(unique.state(*id) == JobState::kDead);
  }
  SUBCASE("killed") {
    const auto id = unique.push(60s, false, 60s);
    REQUIRE(unique.broker.admin().change(*id, Mutation::Action::kKill, unique.now));
  }
  SUBCASE("deleted") {
    REQUIRE(unique.broker.connections().remove(unique.worker, unique.pushed(), unique.now));
  }
  SUBCASE("flushed") {
    unique.pushed();
    CHECK(unique.broker.admin().flush(unique.worker, unique.now));
  }
  SUBCASE("its queue removed") {
    unique.pushed();
    CHECK(unique.broker.admin().remove_queues(unique.worker, {"default"}, unique.now));
  }
  CHECK(unique.lock_count() == 0);
  CHECK(unique.push());
}

TEST_CASE("unique: a job whose lock was over has none after a restart, whoever took it") {
  Unique unique;
  const JobId next = unique.pushed();
  unique.fetch_first();
  REQUIRE(unique.broker.admin().change_held(next, Mutation::Action::kKill, unique.now));
  (void)unique.ledger.take_batch();
  unique.ledger.place(1000);
  const JobId former = unique.pushed(1s);
  const std::string push = unique.ledger.take_batch();
  unique.ledger.place(2000);
  unique.now += 2s;
  REQUIRE(unique.broker.connections().kick_job(next, unique.now));
  CHECK(unique.holds(next));
  // The job that took it has left the log, as if it had ended and was compacted away.
  BrokerFixture after;
  REQUIRE(after.ledger.replay(push, 2000));
  REQUIRE(after.ledger.replay(unique.ledger.take_batch(), 3000));
  CHECK_FALSE(after.job(former).has_mark(job_marks::kHoldsLock));
}

TEST_CASE("unique: a job that a connection held has its lock after a restart, if nobody took it") {
  Unique unique;
  const ClientId other = unique.client();
  const JobId first = unique.pushed(60s, true);
  const std::string push = unique.ledger.take_batch();
  unique.ledger.place(1000);
  REQUIRE(unique.reserve(other) == first);
  CHECK(unique.broker.view().jobs().lock_count() == 0);
  BrokerFixture after;
  SUBCASE("nobody did") {
    REQUIRE(after.ledger.replay(push, 1000));
    CHECK(after.job(first).has_mark(job_marks::kHoldsLock));
  }
  SUBCASE("nobody did, and it was written once more meanwhile") {
    unique.ledger.rewrite(2000, 1 << 20);
    REQUIRE(after.ledger.replay(unique.ledger.take_batch(), 2000));
    CHECK(after.job(first).has_mark(job_marks::kHoldsLock));
  }
  SUBCASE("somebody did, who has ended") {
    const JobId second = unique.pushed();
    CHECK(unique.broker.view().jobs().lock_count() == 1);
    REQUIRE(unique.broker.connections().remove(other, second, unique.now));
    REQUIRE(after.ledger.replay(push, 1000));
    REQUIRE(after.ledger.replay(unique.ledger.take_batch(), 2000));
    CHECK_FALSE(after.job(first).has_mark(job_marks::kHoldsLock));
  }
  CHECK(after.job(first).state == JobState::kReady);
}

TEST_CASE("unique: a dead job that is requeued takes the lock anew, if it is free") {
  Unique unique;
  const JobId first = unique.pushed(60s);
  REQUIRE(unique.broker.admin().change(first, Mutation::Action::kKill, unique.now));
  unique.advance(3600s);
  SUBCASE("it is") {
    REQUIRE(unique.broker.admin().change(first, Mutation::Action::kRequeue, unique.now));
    CHECK(unique.holds(first));
    unique.advance(59s);
    CHECK(unique.is_refused());
    unique.advance(1s);
    CHECK(unique.push());
  }
  SUBCASE("it is not") {
    const JobId second = unique.pushed();
    const auto changed =
        unique.broker.admin().change(first, Mutation::Action::kRequeue, unique.now);
    REQUIRE_FALSE(changed);
    CHECK(changed.error() == Refusal::kNotUnique);
    CHECK(unique.state(first) == JobState::kDead);
    CHECK(unique.holds(second));
  }
}

TEST_CASE("unique: a dead job takes its lock anew, by whatever way it comes back") {
  Unique unique;
  const ClientId other = unique.client();
  const JobId id = unique.pushed(60s);
  REQUIRE(unique.broker.admin().change(id, Mutation::Action::kKill, unique.now));
  unique.advance(3600s);
  SUBCASE("kick") {
    CHECK(unique.broker.connections().kick(other, 9, unique.now) == 1);
  }
  SUBCASE("kick-job") {
    CHECK(unique.broker.connections().kick_job(id, unique.now));
  }
  SUBCASE("MUTATE") {
    Mutation mutation{.set = JobState::kDead, .action = Mutation::Action::kRequeue};
    CHECK(unique.broker.admin().mutate(other, std::move(mutation), unique.now) == 1);
  }
  SUBCASE("reserve-job") {
    REQUIRE(unique.broker.connections().reserve_job(other, id, unique.now));
    CHECK(unique.state(id) == JobState::kReserved);
  }
  SUBCASE("reserve-job and release") {
    REQUIRE(unique.broker.connections().reserve_job(other, id, unique.now));
    REQUIRE(unique.broker.connections().release(other, id, 0, 0, unique.now));
  }
  SUBCASE("reserve-job and release with a delay") {
    REQUIRE(unique.broker.connections().reserve_job(other, id, unique.now));
    REQUIRE(unique.broker.connections().release(other, id, 0, 10, unique.now));
  }
  SUBCASE("reserve-job, and the connection is gone") {
    REQUIRE(unique.broker.connections().reserve_job(other, id, unique.now));
    unique.leave(other);
  }
  CHECK(unique.holds(id));
  CHECK(unique.job(id).lock_ends() == unique.now + 60s);
  CHECK(unique.is_refused());
}

TEST_CASE("unique: a dead job that comes back later has its lock until then, and as long again") {
  Unique unique;
  const JobId id = unique.pushed(60s);
  REQUIRE(unique.broker.admin().change(id, Mutation::Action::kKill, unique.now));
  REQUIRE(unique.broker.admin().requeue_later(id, unique.now + 1h, unique.now));
  CHECK(unique.is_refused());
  unique.advance(1h + 59s);
  CHECK(unique.is_refused());
  unique.advance(1s);
  CHECK(unique.push());
}

TEST_CASE(
    "unique: a dead job stays while another one holds its lock, by whatever way it is wanted") {
  Unique unique;
  const ClientId other = unique.client();
  const JobId id = unique.pushed();
  REQUIRE(unique.broker.admin().change(id, Mutation::Action::kKill, unique.now));
  const JobId holder = unique.pushed();
  const auto refusal = [](const auto& answer) {
    return answer ? std::nullopt : std::optional(answer.error());
  };
  SUBCASE("kick") {
    CHECK(unique.broker.connections().kick(other, 9, unique.now) == 0);
  }
  SUBCASE("kick-job") {
    CHECK(refusal(unique.broker.connections().kick_job(id, unique.now)) == Refusal::kNotFound);
  }
  SUBCASE("MUTATE") {
    Mutation mutation{.set = JobState::kDead, .action = Mutation::Action::kRequeue};
    CHECK(unique.broker.admin().mutate(other, std::move(mutation), unique.now) == 0);
  }
  SUBCASE("reserve-job") {
    CHECK(refusal(unique.broker.connections().reserve_job(other, id, unique.now)) ==
          Refusal::kNotFound);
  }
  SUBCASE("a retry at a later time") {
    const auto later = unique.broker.admin().requeue_later(id, unique.now + 1h, unique.now);
    CHECK(refusal(later) == Refusal::kNotUnique);
  }
  CHECK(unique.state(id) == JobState::kDead);
  CHECK(unique.holds(holder));
}

TEST_CASE("unique: of several dead jobs of one lock the first one comes back") {
  Unique unique;
  const ClientId other = unique.client();
  const JobId first = unique.pushed();
  REQUIRE(unique.broker.admin().change(first, Mutation::Action::kKill, unique.now));
  const JobId second = unique.pushed();
  REQUIRE(unique.broker.admin().change(second, Mutation::Action::kKill, unique.now));
  SUBCASE("kick") {
    CHECK(unique.broker.connections().kick(other, 9, unique.now) == 1);
  }
  SUBCASE("MUTATE") {
    Mutation mutation{.set = JobState::kDead, .action = Mutation::Action::kRequeue};
    CHECK(unique.broker.admin().mutate(other, std::move(mutation), unique.now) == 1);
  }
  CHECK(unique.holds(first));
  CHECK(unique.state(second) == JobState::kDead);
}

TEST_CASE(
    "unique: beanstalk's reserve is the start, its release the way back, its bury the death") {
  Unique unique;
  const ClientId other = unique.client();
  const JobId first = unique.pushed(60s, true);
  REQUIRE(unique.reserve(other) == first);
  CHECK_FALSE(unique.holds(first));
  SUBCASE("release") {
    REQUIRE(unique.broker.connections().release(other, first, 0, 0, unique.now));
    CHECK(unique.holds(first));
    CHECK(unique.is_refused());
  }
  SUBCASE("release when somebody else has taken it") {
    const JobId second = unique.pushed();
    REQUIRE(unique.broker.connections().release(other, first, 0, 0, unique.now));
    CHECK_FALSE(unique.holds(first));
    CHECK(unique.holds(second));
  }
  SUBCASE("bury") {
    REQUIRE(unique.broker.connections().bury(other, first, 0, unique.now));
    CHECK(unique.push());
  }
}

TEST_CASE("unique: an administrator frees the lock of a job, which goes on without it") {
  Unique unique;
  const JobId first = unique.pushed(60s, true);
  REQUIRE(unique.broker.admin().free_lock(first, unique.now));
  CHECK_FALSE(unique.holds(first));
  CHECK(unique.broker.view().jobs().lock_count() == 0);
  SUBCASE("once") {
    const auto again = unique.broker.admin().free_lock(first, unique.now);
    CHECK(again.error() == Refusal::kNotFound);
  }
  SUBCASE("another job takes it") {
    const JobId second = unique.pushed();
    CHECK(unique.holds(second));
    CHECK(unique.broker.admin().free_lock(first, unique.now).error() == Refusal::kNotFound);
  }
  SUBCASE("a run that is given back does not take it again") {
    const ClientId other = unique.client();
    REQUIRE(unique.reserve(other) == first);
    REQUIRE(unique.broker.connections().release(other, first, 0, 0, unique.now));
    CHECK_FALSE(unique.holds(first));
  }
  SUBCASE("a dead one that is requeued does") {
    REQUIRE(unique.broker.admin().change(first, Mutation::Action::kKill, unique.now));
    REQUIRE(unique.broker.admin().change(first, Mutation::Action::kRequeue, unique.now));
    CHECK(unique.holds(first));
  }
}

TEST_CASE("unique: the lock of a running job is freed, unless the job lends it") {
  Unique unique;
  SUBCASE("held until success") {
    const JobId first = unique.pushed();
    unique.fetch_first();
    REQUIRE(unique.broker.admin().free_lock(first, unique.now));
    CHECK(unique.state(first) == JobState::kReserved);
    CHECK(unique.push());
  }
  SUBCASE("held until start") {
    const JobId first = unique.pushed(60s, true);
    unique.fetch_first();
    CHECK(unique.broker.admin().free_lock(first, unique.now).error() == Refusal::kNotFound);
  }
}

TEST_CASE("unique: while records must not grow, no lock is freed by hand") {
  Unique unique;
  const JobId first = unique.pushed();
  unique.broker.set_admission(Admission::kNoGrowth);
  CHECK(unique.broker.admin().free_lock(first, unique.now).error() == Refusal::kNoRoom);
  CHECK(unique.holds(first));
}

TEST_CASE("unique: locks are listed page by page, each once") {
  Unique unique;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    NewJob job{.kind = JobKind::kWorkUnit, .queue = "default", .body = "", .ttr_s = 60};
    job.features =
        JobFeatures{.lock_key = {.high = i * 7, .low = i * 7919}, .lock_ends = unique.now + 60s};
    REQUIRE(unique.broker.put(job, unique.now));
  }
  std::vector<LockKey> keys;
  const auto take = [&keys](const Job& job) {
    keys.push_back(job.features->lock_key);
    return true;
  };
  const auto page = [&](std::size_t limit) {
    const std::size_t before = keys.size();
    unique.broker.view().jobs().page_locks(keys.empty() ? std::nullopt : std::optional(keys.back()),
                                           limit, take);
    return keys.size() - before;
  };
  while (page(7) == 7) {
  }
  CHECK(keys.size() == 1000);
  std::sort(keys.begin(), keys.end());
  CHECK(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
}

TEST_CASE("unique: the secret is recorded with the first lock, and stays with the log") {
  constexpr LockSecret kSecret{.low = 1, .high = 2};
  BrokerFixture first(Broker::Options{.lock_secret = kSecret});
  const auto recorded = [](const BrokerFixture& of) {
    return of.ledger.store().lock_secret().get();
  };
  const auto put = [&](const JobFeatures& features) {
    NewJob job{.kind = JobKind::kWorkUnit, .queue = "default", .body = ""};
    job.features = features;
    REQUIRE(first.broker.put(job, first.now));
  };
  put({.expires_at = first.now + 9s});
  CHECK_FALSE(recorded(first));
  CHECK(first.broker.lock_secret() == kSecret);
  put({.lock_key = kKey, .lock_ends = first.now + 9s});
  CHECK(recorded(first) == kSecret);
  const std::string log = first.ledger.take_batch();
  first.ledger.place(1000);
  SUBCASE("after a restart") {
    BrokerFixture next(Broker::Options{.lock_secret = {.low = 3, .high = 4}});
    REQUIRE(next.ledger.replay(log, 1000));
    CHECK(next.broker.lock_secret() == kSecret);
    CHECK(next.ledger.live_bytes() == first.ledger.live_bytes());
  }
  SUBCASE("after FLUSH, and compaction") {
    (void)first.broker.admin().flush(first.client(), first.now);
    first.settle();
    first.ledger.rewrite(2000, 1 << 20);
    BrokerFixture next(Broker::Options{.lock_secret = {.low = 3, .high = 4}});
    REQUIRE(next.ledger.replay(first.ledger.take_batch(), 2000));
    CHECK(next.broker.lock_secret() == kSecret);
  }
}

TEST_CASE("unique: who asks for it is told that the job is there already") {
  Unique unique;
  const JobId first = unique.pushed();
  const auto second = unique.push(60s, false, {}, UniqueConflict::kAccept);
  REQUIRE(second);
  CHECK(*second == first);
  CHECK(unique.broker.view().orders().count(JobState::kReady) == 1);
}

TEST_CASE("unique: locks are as before after a replay") {
  Unique unique;
  std::vector<std::string> batches;
  const auto log = [&] { batches.push_back(unique.ledger.take_batch()); };
  const JobId expired = unique.pushed(1s);
  log();
  unique.advance(1s);
  const JobId second = unique.pushed();
  log();
  Ledger replayed;
  Lsn at = 0;
  for (const std::string& batch : batches) {
    REQUIRE(replayed.replay(batch, at));
    at += batch.size();
  }
  CHECK(replayed.store().jobs().locks().size() == 1);
  CHECK_FALSE(replayed.store().jobs().find(expired)->has_mark(job_marks::kHoldsLock));
  CHECK(replayed.store().jobs().find(second)->has_mark(job_marks::kHoldsLock));
  CHECK(replayed.live_bytes() == unique.ledger.live_bytes());
}

TEST_CASE("unique: an emptied table of locks holds little memory") {
  Unique unique;
  for (std::uint64_t i = 1; i <= 100'000; ++i) {
    NewJob job{.kind = JobKind::kWorkUnit, .queue = "default", .body = "", .ttr_s = 60};
    job.features =
        JobFeatures{.lock_key = {.high = i, .low = i * 7919}, .lock_ends = unique.now + 60s};
    REQUIRE(unique.broker.put(job, unique.now));
  }
  CHECK(unique.lock_count() == 100'000);
  (void)unique.broker.admin().flush(unique.worker, unique.now);
  unique.settle();
  CHECK(unique.lock_count() == 0);
}

}  // namespace
}  // namespace millrace::test
