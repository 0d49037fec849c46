#include "core/broker/jobs/lost_jobs.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

/// A server whose workers are gone after a minute.
class LostJobsFixture : public BrokerFixture {
 public:
  explicit LostJobsFixture(const WorkerRules& rules = {.timeout = 60s, .poison_after = 3}) {
    broker.admin().set_worker_rules(rules, now);
  }

  /// It never beats.
  ClientId quiet_worker(const std::string& wid) {
    const ClientId id = client();
    CHECK(broker.workers().add(id, {.wid = wid, .hostname = "host", .pid = 7}, now));
    return id;
  }
  ClientId worker(const std::string& wid) {
    const ClientId id = quiet_worker(wid);
    beat(wid);
    return id;
  }
  void beat(const std::string& wid) {
    CHECK(broker.workers().beat(wid, Worker::State::kRunning, 0, now));
  }
  /// A new worker fetches the job, and is gone at once.
  void lose(JobId id, const std::string& wid) {
    const ClientId gone = worker(wid);
    CHECK(fetch(gone, wid) == id);
    leave(gone);
    advance(60s);
  }
  [[nodiscard]] const std::vector<Attempt>& attempts_of(JobId id) {
    const Attempts* const attempts = broker.view().jobs().attempts_of(job(id));
    CHECK(attempts != nullptr);
    return attempts->list;
  }
  /// Starts with what the server before has stored, so long after its last moment.
  void start_after(LostJobsFixture& before, Duration gap) {
    CHECK(ledger.replay(before.ledger.take_batch(), 0));
    now = before.now + gap;
    broker.admin().set_worker_rules({.timeout = 60s, .poison_after = 3}, now);
  }
};

struct NotedLosses : LossWatch {
  std::vector<JobState> next_states;
  void on_taken_back(const Job&, const Queue&, JobState next, Time) override {
    next_states.push_back(next);
  }
  void on_body_unreadable(const Job&, const Queue&, std::string_view) override {}
};

}  // namespace

TEST_CASE("lost jobs: whoever watches learns which of them are dead") {
  LostJobsFixture fixture;
  NotedLosses losses;
  fixture.broker.watch_losses(&losses);
  const JobId id = fixture.push("x");
  for (const char* const wid : {"w1", "w2", "w3"}) fixture.lose(id, wid);
  CHECK(fixture.state(id) == JobState::kDead);
  CHECK((losses.next_states == std::vector{JobState::kReady, JobState::kReady, JobState::kDead}));
}

TEST_CASE("lost jobs: come back a minute after the last connection has closed") {
  LostJobsFixture fixture;
  const ClientId one = fixture.worker("w");
  const ClientId two = fixture.worker("w");
  const JobId id = fixture.push("x");
  CHECK(fixture.fetch(one, "w") == id);
  fixture.leave(one);
  fixture.advance(50s);
  fixture.beat("w");
  fixture.advance(30s);
  CHECK(fixture.state(id) == JobState::kReserved);
  fixture.leave(two);
  fixture.advance(59s);
  CHECK(fixture.state(id) == JobState::kReserved);
  fixture.advance(1s);
  CHECK(fixture.state(id) == JobState::kReady);
  CHECK(fixture.broker.view().tally().jobs_lost == 1);
}

TEST_CASE("lost jobs: have an attempt with the worker, and no failure") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  fixture.lose(id, "w");
  const Attempt& attempt = fixture.attempts_of(id).front();
  CHECK(attempt.end == AttemptEnd::kWorkerLost);
  CHECK(attempt.wid == "w");
  CHECK(attempt.hostname == "host");
  CHECK(attempt.pid == 7);
  CHECK(attempt.ended - attempt.began == 60s);
  CHECK(fixture.job(id).failure() == nullptr);
  CHECK(fixture.broker.view().counters().failed == 0);
  CHECK(fixture.broker.view().counters().processed == 0);
}

TEST_CASE("lost jobs: a client that waits gets them") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  const ClientId gone = fixture.worker("gone");
  CHECK(fixture.fetch(gone, "gone") == id);
  const ClientId waiting = fixture.worker("waiting");
  CHECK(fixture.wait_for(waiting, {"default"}, "waiting"));
  fixture.leave(gone);
  fixture.advance(55s);
  fixture.beat("waiting");
  fixture.advance(5s);
  CHECK(fixture.delivered(waiting)->job == id);
}

TEST_CASE("lost jobs: a worker that connects again keeps its jobs") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  const ClientId first = fixture.worker("w");
  CHECK(fixture.fetch(first, "w") == id);
  fixture.leave(first);
  fixture.advance(59s);
  const ClientId second = fixture.worker("w");
  fixture.advance(50s);
  CHECK(fixture.state(id) == JobState::kReserved);
  fixture.leave(second);
  fixture.advance(60s);
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("lost jobs: a worker that said END with its last connection keeps its jobs") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  const ClientId client = fixture.worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  fixture.broker.workers().end(client);
  fixture.leave(client);
  fixture.advance(1799s);
  CHECK(fixture.state(id) == JobState::kReserved);
  fixture.advance(1s);
  CHECK(fixture.state(id) == JobState::kRetrying);
}

TEST_CASE("lost jobs: a worker that has stopped beating keeps its connection and its jobs") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  const ClientId client = fixture.worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  fixture.advance(1799s);
  CHECK_FALSE(fixture.delivered(client));
  CHECK(fixture.state(id) == JobState::kReserved);
  CHECK(fixture.broker.workers().ack(client, "j1", fixture.now));
}

TEST_CASE("lost jobs: a client that never beats keeps its jobs when its connection closes") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  const ClientId client = fixture.quiet_worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  fixture.leave(client);
  fixture.advance(1799s);
  CHECK(fixture.state(id) == JobState::kReserved);
  CHECK(fixture.broker.workers().ack(fixture.quiet_worker("w"), "j1", fixture.now));
  CHECK_FALSE(fixture.has(id));
}

TEST_CASE("lost jobs: a client that opens a connection for each command keeps its jobs") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  const ClientId client = fixture.quiet_worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  fixture.leave(client);
  for (int i = 0; i < 20; ++i) {
    fixture.leave(fixture.quiet_worker("w"));
    fixture.advance(80s);
  }
  CHECK(fixture.state(id) == JobState::kReserved);
}

TEST_CASE("lost jobs: clients that share a wid, and beat on connections of their own, keep them") {
  LostJobsFixture fixture;
  const ClientId waiting = fixture.quiet_worker("w");
  CHECK(fixture.wait_for(waiting, {"default"}, "w"));
  fixture.leave(fixture.worker("w"));
  const ClientId fetching = fixture.quiet_worker("w");
  const JobId waited_for = fixture.push("x");
  const JobId fetched = fixture.push("y");
  CHECK(fixture.fetch(fetching, "w") == fetched);
  fixture.leave(waiting);
  fixture.leave(fetching);
  fixture.advance(600s);
  CHECK(fixture.state(waited_for) == JobState::kReserved);
  CHECK(fixture.state(fetched) == JobState::kReserved);
}

TEST_CASE("lost jobs: a worker that replaced a connection is lost once it has beaten again") {
  for (const bool has_beaten : {false, true}) {
    LostJobsFixture fixture;
    const JobId id = fixture.push("x");
    const ClientId first = fixture.worker("w");
    fixture.leave(fixture.quiet_worker("w"));
    const ClientId second = fixture.quiet_worker("w");
    CHECK(fixture.fetch(first, "w") == id);
    if (has_beaten) fixture.beat("w");
    fixture.leave(first);
    fixture.leave(second);
    fixture.advance(60s);
    CHECK(fixture.state(id) == (has_beaten ? JobState::kReady : JobState::kReserved));
  }
}

TEST_CASE("lost jobs: a worker that replaced a connection after END is lost") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  const ClientId first = fixture.worker("w");
  const ClientId ended = fixture.quiet_worker("w");
  fixture.broker.workers().end(ended);
  fixture.leave(ended);
  const ClientId second = fixture.quiet_worker("w");
  CHECK(fixture.fetch(second, "w") == id);
  fixture.leave(first);
  fixture.leave(second);
  fixture.advance(60s);
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("lost jobs: a worker that beats after it took the job is lost, too") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  const ClientId client = fixture.quiet_worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  fixture.beat("w");
  fixture.leave(client);
  fixture.advance(60s);
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("lost jobs: a worker that comes back, and ends before it beats again, is lost") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  const ClientId client = fixture.worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  fixture.leave(client);
  fixture.leave(fixture.quiet_worker("w"));
  fixture.advance(60s);
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("lost jobs: a client without a name keeps its jobs") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "") == id);
  fixture.advance(300s);
  fixture.leave(client);
  fixture.advance(300s);
  CHECK(fixture.state(id) == JobState::kReserved);
}

TEST_CASE("lost jobs: a worker that holds nothing is forgotten") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  const ClientId client = fixture.worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().ack(client, "j1", fixture.now));
  fixture.leave(client);
  fixture.advance(120s);
  CHECK(fixture.broker.tick(fixture.now) == kNever);
}

TEST_CASE("late ACK: ends the job while it waits to run again") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("jid=j1");
  fixture.lose(id, "w");
  CHECK(fixture.state(id) == JobState::kReady);
  CHECK(fixture.broker.workers().ack(fixture.worker("w"), "j1", fixture.now));
  CHECK_FALSE(fixture.has(id));
  CHECK(fixture.broker.view().counters().processed == 1);
  CHECK(fixture.broker.view().counters().failed == 0);
}

TEST_CASE("late ACK: the finished job has the worker that sent it, and when that began") {
  for (const bool is_durable : {false, true}) {
    LostJobsFixture fixture;
    fixture.ledger.store().finished().begin(fixture.format, {.is_durable = is_durable});
    const JobId id = fixture.push("jid=x");
    const Time began = fixture.now;
    fixture.lose(id, "w1");
    CHECK(fixture.state(id) == JobState::kReady);
    CHECK(fixture.broker.workers().ack(fixture.worker("w1"), "x", fixture.now));
    const FinishedJob* const job = fixture.broker.view().finished().find(id, fixture.now);
    REQUIRE(job != nullptr);
    CHECK(job->how == JobEnd::kSucceeded);
    CHECK(job->wid() == "w1");
    CHECK(job->began_at == began);
  }
}

TEST_CASE("late ACK: ends the job after its reservation has expired") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("jid=j1");
  const ClientId client = fixture.quiet_worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  fixture.advance(1800s);
  CHECK(fixture.state(id) == JobState::kRetrying);
  CHECK(fixture.broker.workers().ack(client, "j1", fixture.now));
  CHECK_FALSE(fixture.has(id));
}

TEST_CASE("late ACK: ends the job that has died of lost workers") {
  LostJobsFixture fixture({.timeout = 60s, .poison_after = 1});
  const JobId id = fixture.push("jid=j1");
  fixture.lose(id, "w");
  CHECK(fixture.state(id) == JobState::kDead);
  CHECK(fixture.broker.workers().ack(fixture.worker("w"), "j1", fixture.now));
  CHECK_FALSE(fixture.has(id));
}

TEST_CASE("late ACK: ends a job that was put, by the name that the worker knows") {
  LostJobsFixture fixture;
  for (const std::string body : {"plain", "jid=own"}) {
    const JobId id = fixture.put(body);
    fixture.lose(id, "w");
    const std::string jid = body == "plain" ? "j" + std::to_string(id) : "own";
    CHECK_FALSE(fixture.broker.workers().ack(fixture.worker("other"), jid, fixture.now));
    CHECK(fixture.broker.workers().ack(fixture.worker("w"), jid, fixture.now));
    CHECK_FALSE(fixture.has(id));
  }
}

TEST_CASE("late ACK: ends a job that was put before a start, and written once more since") {
  for (const bool is_rewritten : {false, true}) {
    LostJobsFixture before;
    const JobId id = before.put("jid=own");
    before.lose(id, "w");
    LostJobsFixture after;
    after.start_after(before, 60s);
    if (is_rewritten) {
      std::string batch;
      after.ledger.store().rewrite_job(id, batch);
      LostJobsFixture later;
      CHECK(later.ledger.replay(batch, 0));
      CHECK(later.broker.workers().ack(later.worker("w"), "own", later.now));
      CHECK_FALSE(later.has(id));
    } else {
      CHECK(after.broker.workers().ack(after.worker("w"), "own", after.now));
      CHECK_FALSE(after.has(id));
    }
  }
}

TEST_CASE("late ACK: a job that was put, and lost its worker, is not one that was pushed") {
  LostJobsFixture fixture;
  const JobId id = fixture.put("jid=own");
  fixture.lose(id, "w");
  CHECK(fixture.push("jid=own") != id);
}

TEST_CASE("late ACK: of a worker that failed the job ends nothing") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("jid=j1");
  const ClientId client = fixture.worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().fail(client, "j1", {.message = "m"}, fixture.now));
  CHECK_FALSE(fixture.broker.workers().ack(client, "j1", fixture.now));
  CHECK(fixture.state(id) == JobState::kRetrying);
}

TEST_CASE("late ACK: of a worker that did not hold the job last ends nothing") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("jid=j1");
  fixture.lose(id, "first");
  fixture.lose(id, "second");
  CHECK_FALSE(fixture.broker.workers().ack(fixture.worker("first"), "j1", fixture.now));
  CHECK(fixture.state(id) == JobState::kReady);
  CHECK(fixture.broker.workers().ack(fixture.worker("second"), "j1", fixture.now));
}

TEST_CASE("late ACK: the run does not count as a lost worker") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("jid=j1");
  fixture.lose(id, "a");
  const ClientId b = fixture.worker("b");
  CHECK(fixture.fetch(b, "b") == id);
  CHECK_FALSE(fixture.broker.workers().ack(fixture.worker("a"), "j1", fixture.now));
  CHECK(fixture.attempts_of(id).front().end == AttemptEnd::kEndedLate);
  fixture.leave(b);
  fixture.advance(60s);
  fixture.lose(id, "c");
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("late ACK: never ends another worker's run of a job with the same name") {
  LostJobsFixture fixture;
  const JobId lost = fixture.push("jid=same");
  fixture.lose(lost, "w");
  CHECK(fixture.broker.connections().remove(fixture.client(), lost, fixture.now));
  const JobId other = fixture.push("jid=same");
  CHECK(fixture.fetch(fixture.worker("other"), "other") == other);
  CHECK_FALSE(fixture.broker.workers().ack(fixture.worker("w"), "same", fixture.now));
  CHECK_FALSE(fixture.broker.workers().fail(fixture.worker("w"), "same", {}, fixture.now));
  CHECK(fixture.state(other) == JobState::kReserved);
}

TEST_CASE("late ACK: never ends another worker's run, also after ten newer attempts") {
  LostJobsFixture fixture({.timeout = 60s, .poison_after = 0});
  const JobId id = fixture.push("jid=j1");
  fixture.lose(id, "w");
  for (int i = 0; i < 11; ++i) fixture.lose(id, "v" + std::to_string(i));
  CHECK(fixture.fetch(fixture.worker("other"), "other") == id);
  CHECK_FALSE(fixture.broker.workers().ack(fixture.worker("w"), "j1", fixture.now));
  CHECK(fixture.state(id) == JobState::kReserved);
}

TEST_CASE("ACK: by another worker that never had a job ends the run, as in Faktory") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  CHECK(fixture.fetch(fixture.worker("w"), "w") == id);
  CHECK(fixture.broker.workers().ack(fixture.worker("other"), "j1", fixture.now));
  CHECK_FALSE(fixture.has(id));
}

TEST_CASE("ACK: sent twice, it does not end the run of a job with the same name") {
  LostJobsFixture fixture;
  const JobId one = fixture.push("jid=same");
  const JobId two = fixture.push("jid=same,");
  CHECK(fixture.fetch(fixture.worker("a"), "a") == one);
  const ClientId b = fixture.worker("b");
  CHECK(fixture.fetch(b, "b") == two);
  CHECK(fixture.broker.workers().ack(b, "same", fixture.now));
  CHECK_FALSE(fixture.broker.workers().ack(b, "same", fixture.now));
  fixture.leave(b);
  CHECK_FALSE(fixture.broker.workers().fail(fixture.quiet_worker("b"), "same", {}, fixture.now));
  CHECK(fixture.state(one) == JobState::kReserved);
}

TEST_CASE("ACK: of a worker that gave the job back does not end the next run") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("jid=j1");
  const ClientId first = fixture.worker("first");
  CHECK(fixture.fetch(first, "first") == id);
  CHECK(fixture.broker.workers().fail(first, "j1", {.end = AttemptEnd::kReleased}, fixture.now));
  CHECK(fixture.fetch(fixture.worker("second"), "second") == id);
  CHECK_FALSE(fixture.broker.workers().ack(first, "j1", fixture.now));
  CHECK(fixture.state(id) == JobState::kReserved);
}

TEST_CASE("late ACK: of a client without a wid does not end another worker's run") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("jid=j1");
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "") == id);
  fixture.advance(1800s);
  CHECK(fixture.state(id) == JobState::kRetrying);
  CHECK(fixture.broker.connections().kick_job(id, fixture.now));
  CHECK(fixture.fetch(fixture.worker("other"), "other") == id);
  CHECK_FALSE(fixture.broker.workers().ack(client, "j1", fixture.now));
  CHECK(fixture.state(id) == JobState::kReserved);
}

TEST_CASE("lost jobs: what an old holder says changes nothing while another one has the job") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("jid=j1");
  fixture.lose(id, "old");
  const ClientId old = fixture.worker("old");
  const ClientId other = fixture.worker("other");
  CHECK(fixture.fetch(other, "other") == id);
  CHECK_FALSE(fixture.broker.workers().ack(old, "j1", fixture.now));
  CHECK_FALSE(fixture.broker.workers().fail(old, "j1", {}, fixture.now));
  CHECK(fixture.job(id).reservation()->wid == "other");
  CHECK(fixture.broker.workers().ack(other, "j1", fixture.now));
}

TEST_CASE("lost jobs: a worker that has the job once more finishes it") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  fixture.lose(id, "w");
  const ClientId again = fixture.worker("w");
  CHECK(fixture.fetch(again, "w") == id);
  CHECK(fixture.broker.workers().ack(again, "j1", fixture.now));
}

TEST_CASE("lost jobs: the third worker in a row is the last one") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("retry=0");
  fixture.lose(id, "a");
  fixture.lose(id, "b");
  CHECK(fixture.state(id) == JobState::kReady);
  fixture.lose(id, "c");
  CHECK(fixture.state(id) == JobState::kDead);
  CHECK(fixture.job(id).failure()->errtype == "WorkerLost");
  CHECK(fixture.job(id).failure()->message ==
        "3 workers in a row were lost while they ran this job");
  CHECK(fixture.broker.view().counters().failed == 1);
  CHECK(fixture.attempts_of(id).size() == 3);
}

TEST_CASE("lost jobs: a failed run begins the count anew") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  fixture.lose(id, "a");
  fixture.lose(id, "b");
  const ClientId client = fixture.worker("c");
  CHECK(fixture.fetch(client, "c") == id);
  CHECK(fixture.broker.workers().fail(client, "j1", {.message = "m"}, fixture.now));
  CHECK(fixture.broker.connections().kick_job(id, fixture.now));
  fixture.lose(id, "d");
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("lost jobs: with 0 no number of lost workers is too many") {
  LostJobsFixture fixture({.timeout = 60s, .poison_after = 0});
  const JobId id = fixture.push("x");
  for (int i = 0; i < 12; ++i) fixture.lose(id, "w" + std::to_string(i));
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("lost jobs: without a time they stay with their worker") {
  LostJobsFixture fixture({.timeout = std::nullopt, .poison_after = 3});
  const JobId id = fixture.push("x");
  const ClientId client = fixture.worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  fixture.leave(client);
  fixture.advance(1799s);
  CHECK(fixture.state(id) == JobState::kReserved);
}

TEST_CASE("lost jobs: while records must not grow, they stay, and come back afterwards") {
  LostJobsFixture fixture;
  const JobId id = fixture.push("x");
  const ClientId client = fixture.worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  fixture.leave(client);
  fixture.broker.set_admission(Admission::kNoGrowth);
  fixture.advance(100s);
  CHECK(fixture.state(id) == JobState::kReserved);
  fixture.broker.set_admission(Admission::kEverything);
  fixture.settle();
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("lost jobs: more than one slice of them come back") {
  LostJobsFixture fixture;
  const ClientId client = fixture.worker("w");
  for (std::size_t i = 0; i < 2 * kSliceJobs; ++i) {
    const JobId id = fixture.push("x");
    CHECK(fixture.fetch(client, "w") == id);
  }
  fixture.leave(client);
  fixture.advance(61s);
  CHECK(fixture.broker.view().orders().count(JobState::kReady) == 2 * kSliceJobs);
}

TEST_CASE("lost jobs: after a start all workers have ten times as long to come back") {
  LostJobsFixture before;
  const JobId kept = before.push("x");
  const JobId lost = before.push("y");
  const ClientId one = before.worker("one");
  const ClientId two = before.worker("two");
  CHECK(before.fetch(one, "one") == kept);
  CHECK(before.fetch(two, "two") == lost);
  const JobId of_quiet = before.push("z");
  CHECK(before.fetch(before.quiet_worker("quiet"), "quiet") == of_quiet);
  LostJobsFixture after;
  after.start_after(before, 600s);
  after.worker("one");
  after.advance(599s);
  CHECK(after.state(lost) == JobState::kReserved);
  after.advance(1s);
  CHECK(after.state(lost) == JobState::kReady);
  CHECK(after.state(kept) == JobState::kReserved);
  // A worker that had not beaten by then may never do.
  CHECK(after.state(of_quiet) == JobState::kReserved);
  after.advance(500s);
  CHECK(after.state(of_quiet) == JobState::kReserved);
}

TEST_CASE("lost jobs: after a start, one who only says the worker's name does not end its time") {
  LostJobsFixture before;
  const JobId id = before.push("x");
  CHECK(before.fetch(before.worker("w"), "w") == id);
  LostJobsFixture after;
  after.start_after(before, 60s);
  after.leave(after.quiet_worker("w"));
  after.advance(599s);
  CHECK(after.state(id) == JobState::kReserved);
  after.advance(1s);
  CHECK(after.state(id) == JobState::kReady);
}

TEST_CASE("lost jobs: a worker of before the start that comes back late, beats and ends, is lost") {
  LostJobsFixture before;
  const JobId id = before.push("x");
  CHECK(before.fetch(before.quiet_worker("w"), "w") == id);
  LostJobsFixture after;
  after.start_after(before, 60s);
  after.advance(300s);
  after.leave(after.worker("w"));
  after.advance(60s);
  CHECK(after.state(id) == JobState::kReady);
}

TEST_CASE("extend while alive: a worker that has stopped beating is not extended") {
  LostJobsFixture fixture({.timeout = 60s, .poison_after = 3, .extends = true});
  const JobId id = fixture.push("x");
  CHECK(fixture.fetch(fixture.worker("w"), "w") == id);
  fixture.advance(1800s);
  CHECK(fixture.state(id) == JobState::kRetrying);
}

TEST_CASE("extend while alive: the reservation of a worker that beats does not run out") {
  LostJobsFixture fixture({.timeout = 60s, .poison_after = 3, .extends = true});
  const JobId id = fixture.push("x");
  const ClientId client = fixture.worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  for (int i = 0; i < 100; ++i) {
    fixture.beat("w");
    fixture.advance(30s);
  }
  CHECK(fixture.state(id) == JobState::kReserved);
  CHECK(fixture.job(id).when > fixture.now);
  fixture.leave(client);
  fixture.advance(60s);
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("extend while alive: that of a client that never beats does") {
  LostJobsFixture fixture({.timeout = 60s, .poison_after = 3, .extends = true});
  const JobId id = fixture.push("x");
  const ClientId client = fixture.quiet_worker("w");
  CHECK(fixture.fetch(client, "w") == id);
  fixture.advance(1800s);
  CHECK(fixture.state(id) == JobState::kRetrying);
}

}  // namespace millrace::test
