#include "core/broker/broker.hpp"

#include <set>
#include <string>

#include "core/bench.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

// ---- order --------------------------------------------------------------------------------------

TEST_CASE("reserve: smaller pri first, then smaller id") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId late = bench.put("late", {.queue = "default", .pri = 9});
  const JobId first = bench.put("first", {.queue = "default", .pri = 1});
  const JobId second = bench.put("second", {.queue = "default", .pri = 1});
  CHECK(bench.reserve(client) == first);
  CHECK(bench.reserve(client) == second);
  CHECK(bench.reserve(client) == late);
  CHECK(bench.reserve(client) == std::nullopt);
}

TEST_CASE("reserve: the smallest over all watched queues") {
  Bench bench;
  const ClientId client = bench.client();
  CHECK(bench.broker.watch(client, "other"));
  bench.put("a", {.queue = "default", .pri = 5});
  const JobId urgent = bench.put("b", {.queue = "other", .pri = 4});
  CHECK(bench.reserve(client) == urgent);
}

TEST_CASE("fetch: the first queue of the list that has a job") {
  Bench bench;
  const ClientId client = bench.client();
  bench.push("low", "low");
  const JobId high = bench.push("high", "high");
  CHECK(bench.fetch(client, "w", {"none", "high", "low"}) == high);
}

TEST_CASE("release: a put job regains its old place, a pushed one goes to the end") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId put = bench.put("put");
  const JobId pushed = bench.push("pushed");
  const JobId last = bench.push("last");
  CHECK(bench.reserve(client) == put);
  CHECK(bench.reserve(client) == pushed);
  CHECK(bench.broker.release(client, pushed, 0, 0, bench.now));
  CHECK(bench.broker.release(client, put, 0, 0, bench.now));
  CHECK(bench.reserve(client) == put);
  CHECK(bench.reserve(client) == last);
  CHECK(bench.reserve(client) == pushed);
}

// ---- connection holds ---------------------------------------------------------------------------

TEST_CASE("delete: only the holder deletes a reserved job") {
  Bench bench;
  const ClientId holder = bench.client();
  const ClientId other = bench.client();
  const JobId id = bench.put("x");
  CHECK(bench.reserve(holder) == id);
  CHECK_FALSE(bench.broker.remove(other, id, bench.now));
  CHECK(bench.broker.remove(holder, id, bench.now));
  CHECK_FALSE(bench.has(id));
}

TEST_CASE("delete: anybody deletes a ready, delayed or buried job") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId ready = bench.put("x");
  const JobId delayed = bench.put("x", {.queue = "default", .due = bench.now + 1s});
  CHECK(bench.broker.remove(client, ready, bench.now));
  CHECK(bench.broker.remove(client, delayed, bench.now));
  CHECK_FALSE(bench.broker.remove(client, delayed, bench.now));
}

TEST_CASE("bury: a buried job is not reserved") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x");
  CHECK(bench.reserve(client) == id);
  CHECK(bench.broker.bury(client, id, 7, bench.now));
  CHECK(bench.state(id) == JobState::kDead);
  CHECK(bench.job(id).pri == 7);
  CHECK(bench.reserve(client) == std::nullopt);
}

TEST_CASE("ttr: an idle holder's job becomes ready when it runs out") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x", {.queue = "default", .ttr_s = 2});
  CHECK(bench.reserve(client) == id);
  bench.advance(1999ms);
  CHECK(bench.state(id) == JobState::kReserved);
  bench.advance(1ms);
  CHECK(bench.state(id) == JobState::kReady);
  CHECK(bench.job(id).tallies().timeouts == 1);
  CHECK(bench.broker.view().tally().reservations_timed_out == 1);
}

TEST_CASE("touch: the deadline starts anew") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x", {.queue = "default", .ttr_s = 2});
  CHECK(bench.reserve(client) == id);
  bench.advance(1s);
  CHECK(bench.broker.touch(client, id, bench.now));
  bench.advance(1500ms);
  CHECK(bench.state(id) == JobState::kReserved);
  bench.advance(500ms);
  CHECK(bench.state(id) == JobState::kReady);
}

TEST_CASE("disconnect: what the connection held is ready at once") {
  Bench bench;
  const ClientId holder = bench.client();
  const ClientId waiter = bench.client();
  const JobId id = bench.put("x");
  CHECK(bench.reserve(holder) == id);
  CHECK(bench.wait(waiter));
  bench.leave(holder);
  CHECK(bench.delivered(waiter)->job == id);
  CHECK(bench.job(id).tallies().releases == 0);
}

TEST_CASE("disconnect: more jobs than a slice are given back by further ticks") {
  Bench bench;
  const ClientId holder = bench.client();
  for (std::size_t i = 0; i < kSliceJobs + 1; ++i) bench.put("x");
  while (bench.reserve(holder)) {
  }
  bench.leave(holder);
  CHECK(bench.broker.view().job_count(JobState::kReserved) == 1);
  bench.settle();
  CHECK(bench.broker.view().job_count(JobState::kReserved) == 0);
}

TEST_CASE("disconnect: jobs whose failures say much are given back in batches that are not long") {
  Bench bench;
  const ClientId holder = bench.client();
  constexpr std::size_t kTextBytes = 20'000;
  for (int i = 0; i < 200; ++i) {
    Failure failure;
    failure.message = std::string(kTextBytes, 'm');
    bench.put("x", {.queue = "default", .failure = failure});
  }
  while (bench.reserve(holder)) {
  }
  static_cast<void>(bench.ledger.take_batch());
  bench.leave(holder);
  std::size_t batches = 0;
  while (bench.ledger.has_batch()) {
    CHECK(bench.ledger.batch_bytes() < kBatchBytesPause + 2 * kTextBytes);
    static_cast<void>(bench.ledger.take_batch());
    ++batches;
    bench.broker.tick(bench.now);
  }
  CHECK(batches == 4);
  CHECK(bench.broker.view().job_count(JobState::kReserved) == 0);
}

TEST_CASE("reserve-job: takes a delayed or buried job, not a reserved one") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x", {.queue = "default", .due = bench.now + 9s});
  CHECK(bench.broker.reserve_job(client, id, bench.now));
  CHECK_FALSE(bench.broker.reserve_job(client, id, bench.now));
  CHECK(bench.broker.bury(client, id, 0, bench.now));
  CHECK(bench.broker.reserve_job(client, id, bench.now));
}

// ---- waiting ------------------------------------------------------------------------------------

TEST_CASE("wait: who came first is served first") {
  Bench bench;
  const ClientId first = bench.client();
  const ClientId second = bench.client();
  CHECK(bench.wait(first));
  CHECK(bench.wait(second));
  const JobId id = bench.put("x");
  CHECK(bench.delivered(first)->job == id);
  CHECK_FALSE(bench.delivered(second));
}

TEST_CASE("wait: ends when its time is over") {
  Bench bench;
  const ClientId client = bench.client();
  CHECK(bench.wait(client, 2s));
  bench.advance(1999ms);
  CHECK_FALSE(bench.delivered(client));
  bench.advance(1ms);
  CHECK(bench.delivered(client)->kind == Delivery::Kind::kTimedOut);
}

TEST_CASE("wait: a job that comes due in the last moment is not missed") {
  Bench bench;
  const ClientId client = bench.client();
  bench.put("x", {.queue = "default", .due = bench.now + 2s});
  CHECK(bench.wait(client, 2s));
  bench.advance(2s);
  CHECK(bench.delivered(client)->kind == Delivery::Kind::kJob);
}

TEST_CASE("wait: a holder is told when its deadline is near") {
  Bench bench;
  const ClientId client = bench.client();
  bench.put("x", {.queue = "default", .ttr_s = 3});
  CHECK(bench.reserve(client));
  CHECK(bench.wait(client));
  bench.advance(1999ms);
  CHECK_FALSE(bench.delivered(client));
  bench.advance(1ms);
  CHECK(bench.delivered(client)->kind == Delivery::Kind::kDeadlineSoon);
}

TEST_CASE("wait: in the safety margin the answer comes at once, unless there is a job") {
  Bench bench;
  const ClientId client = bench.client();
  bench.put("x", {.queue = "default", .ttr_s = 1});
  CHECK(bench.reserve(client));
  const auto soon = bench.broker.reserve(client, {.wait_until = kNever}, bench.now);
  CHECK(soon->kind == Delivery::Kind::kDeadlineSoon);
  bench.put("y");
  CHECK(bench.reserve(client));
}

TEST_CASE("wait: touched after DEADLINE_SOON, the job still expires") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x", {.queue = "default", .ttr_s = 5});
  CHECK(bench.reserve(client));
  bench.advance(2s);
  CHECK(bench.wait(client, 3s));
  bench.advance(2s);
  CHECK(bench.delivered(client)->kind == Delivery::Kind::kDeadlineSoon);
  CHECK(bench.broker.touch(client, id, bench.now));
  bench.advance(5s);
  CHECK(bench.state(id) == JobState::kReady);
}

TEST_CASE("wait: one who gave up gets nothing") {
  Bench bench;
  const ClientId client = bench.client();
  CHECK(bench.wait(client));
  bench.broker.stop_waiting(client);
  const JobId id = bench.put("x");
  CHECK_FALSE(bench.delivered(client));
  CHECK(bench.state(id) == JobState::kReady);
}

TEST_CASE("wait: on a queue that does not exist yet, and twice the same one") {
  Bench bench;
  const ClientId client = bench.client();
  CHECK(bench.wait_for(client, {"new", "new"}, "w"));
  const JobId id = bench.push("x", "new");
  CHECK(bench.delivered(client)->job == id);
}

TEST_CASE("wait: a queue that was only waited for goes with the wait") {
  Bench bench;
  const ClientId client = bench.client();
  CHECK(bench.wait_for(client, {"new", "new"}, "w", 1s));
  bench.advance(1s);
  CHECK(bench.broker.view().find_queue("new") == nullptr);
}

// ---- pause --------------------------------------------------------------------------------------

TEST_CASE("pause: hands out nothing until it ends, then serves who waits") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x");
  CHECK(bench.broker.admin().pause("default", 2, bench.now));
  CHECK(bench.wait(client));
  bench.advance(1999ms);
  CHECK_FALSE(bench.delivered(client));
  bench.advance(1ms);
  CHECK(bench.delivered(client)->job == id);
}

TEST_CASE("pause: who waits until the moment at which very many pauses end is served") {
  constexpr std::size_t kQueues = 2 * kSliceJobs + 1;
  Bench bench;
  std::vector<ClientId> clients;
  for (std::size_t i = 0; i < kQueues; ++i) {
    const std::string name = "q" + std::to_string(i);
    bench.put("x", {.queue = name, .ttr_s = 60});
    CHECK(bench.broker.admin().pause(name, 2, bench.now));
    clients.push_back(bench.client());
    CHECK(bench.wait_for(clients.back(), {name}, "w" + std::to_string(i), 2s));
  }
  bench.advance(2s);
  for (const ClientId client : clients) {
    const auto got = bench.delivered(client);
    REQUIRE(got);
    REQUIRE(got->kind == Delivery::Kind::kJob);
  }
}

TEST_CASE("pause: 0 resumes at once") {
  Bench bench;
  const ClientId client = bench.client();
  bench.put("x");
  CHECK(bench.broker.admin().pause("default", std::nullopt, bench.now));
  CHECK(bench.wait(client));
  CHECK(bench.broker.admin().pause("default", 0, bench.now));
  CHECK(bench.delivered(client)->kind == Delivery::Kind::kJob);
}

TEST_CASE("pause: an unknown queue is refused") {
  Bench bench;
  CHECK_FALSE(bench.broker.admin().pause("nobody", 1, bench.now));
}

TEST_CASE("pause: what is paused already is not written again") {
  Bench bench;
  CHECK(bench.broker.admin().pause("default", std::nullopt, bench.now));
  (void)bench.ledger.take_batch();
  CHECK(bench.broker.admin().pause("default", std::nullopt, bench.now));
  CHECK_FALSE(bench.ledger.has_batch());
}

TEST_CASE("pause: one that was resumed or overwritten rings no more") {
  Bench bench;
  CHECK(bench.broker.admin().pause("default", 4'000'000'000, bench.now));
  CHECK(bench.broker.admin().pause("default", 9, bench.now));
  CHECK(bench.broker.tick(bench.now) == bench.now + 9s);
  CHECK(bench.broker.admin().pause("default", 0, bench.now));
  CHECK(bench.broker.tick(bench.now) == kNever);
}

TEST_CASE("pause: one without end keeps its queue") {
  Bench bench;
  const ClientId client = bench.client();
  CHECK(bench.broker.use(client, "t"));
  CHECK(bench.broker.admin().pause("t", std::nullopt, bench.now));
  CHECK(bench.broker.use(client, "default"));
  CHECK(bench.broker.view().find_queue("t") != nullptr);
  CHECK(bench.broker.admin().pause("t", 0, bench.now));
  CHECK(bench.broker.view().find_queue("t") == nullptr);
}

// ---- queues -------------------------------------------------------------------------------------

TEST_CASE("queue: vanishes when nothing needs it") {
  Bench bench;
  const ClientId client = bench.client();
  CHECK(bench.broker.use(client, "t"));
  const JobId id = bench.put("x", {.queue = "t"});
  CHECK(bench.broker.use(client, "default"));
  CHECK(bench.broker.view().find_queue("t") != nullptr);
  CHECK(bench.broker.remove(client, id, bench.now));
  CHECK(bench.broker.view().find_queue("t") == nullptr);
}

TEST_CASE("queue: one that was pushed to stays when empty") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.push("x", "mail");
  CHECK(bench.broker.remove(client, id, bench.now));
  CHECK(bench.broker.view().find_queue("mail") != nullptr);
}

TEST_CASE("ignore: the last watched queue stays") {
  Bench bench;
  const ClientId client = bench.client();
  CHECK_FALSE(bench.broker.ignore(client, "default"));
  CHECK(bench.broker.watch(client, "t").value() == 2);
  CHECK(bench.broker.ignore(client, "default").value() == 1);
  CHECK(bench.broker.ignore(client, "unknown").value() == 1);
}

TEST_CASE("watch: as many queues as the limit says, and one more is refused") {
  Bench bench;
  const ClientId client = bench.client();
  for (std::size_t i = 1; i < kWatchedQueuesMax; ++i) {
    REQUIRE(bench.broker.watch(client, "t" + std::to_string(i)).value() == i + 1);
  }
  CHECK(bench.broker.watch(client, "more").error() == Refusal::kTooManyQueues);
  CHECK(bench.broker.view().find_queue("more") == nullptr);
  CHECK(bench.broker.watch(client, "t1").value() == kWatchedQueuesMax);
  CHECK(bench.broker.ignore(client, "t1").value() == kWatchedQueuesMax - 1);
  CHECK(bench.broker.watch(client, "more").value() == kWatchedQueuesMax);
}

TEST_CASE("steps: a reserve counts the queues that it looks at") {
  Bench bench;
  const ClientId client = bench.client();
  for (int i = 1; i < 100; ++i) CHECK(bench.broker.watch(client, "t" + std::to_string(i)));
  const std::uint64_t before = bench.broker.step_count();
  CHECK_FALSE(bench.reserve(client));
  CHECK(bench.broker.step_count() == before + 100);
}

TEST_CASE("queue: it is listed while it is kept or has a ready job") {
  Bench bench;
  const ClientId client = bench.client();
  const auto listed = [&] {
    std::set<std::string> names;
    bench.broker.view().each_listed_queue([&](const Queue& queue) { names.insert(queue.name); });
    return names;
  };
  CHECK(bench.broker.watch(client, "watched"));
  CHECK(listed().empty());
  bench.put("a", {.queue = "put", .ttr_s = 60});
  const JobId pushed = bench.push("b", "pushed");
  const JobId other = bench.put("c", {.queue = "watched", .ttr_s = 60});
  CHECK(listed() == std::set<std::string>{"put", "pushed", "watched"});
  CHECK(bench.broker.remove(client, pushed, bench.now));
  CHECK(bench.reserve(client) == other);
  CHECK(listed() == std::set<std::string>{"put", "pushed"});
  CHECK(bench.broker.admin().remove_queues(client, {"put", "pushed"}, bench.now));
  CHECK(listed().empty());
}

TEST_CASE("queue: pages stand in the order of creation, up to an end") {
  Bench bench;
  const ClientId client = bench.client();
  for (const char* name : {"a", "b", "c"}) CHECK(bench.broker.watch(client, name));
  const View& view = bench.broker.view();
  const std::uint64_t end = view.queues_end();
  CHECK(bench.broker.watch(client, "late"));
  std::string names;
  const auto add = [&](const Queue& queue) { names += queue.name + ' '; };
  const std::uint64_t next = view.page_queues(0, end, 2, add);
  CHECK(names == "default a ");
  CHECK(next < end);
  CHECK(view.page_queues(next, end, 2, add) == end);
  CHECK(names == "default a b c ");
}

TEST_CASE("queue: a name at the limit is taken, one byte more is refused") {
  Bench bench;
  const ClientId client = bench.client();
  CHECK(bench.broker.use(client, std::string(kQueueNameBytesMax, 'q')));
  CHECK_FALSE(bench.broker.use(client, std::string(kQueueNameBytesMax + 1, 'q')));
  CHECK_FALSE(bench.broker.put({.queue = std::string(kQueueNameBytesMax + 1, 'q')}, bench.now));
}

// ---- kick and flush -----------------------------------------------------------------------------

TEST_CASE("kick: buried jobs first, oldest first, delayed ones only when none is buried") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId a = bench.put("a");
  const JobId b = bench.put("b");
  const JobId later = bench.put("c", {.queue = "default", .due = bench.now + 99s});
  CHECK(bench.reserve(client) == a);
  CHECK(bench.reserve(client) == b);
  CHECK(bench.broker.bury(client, b, 0, bench.now));
  CHECK(bench.broker.bury(client, a, 0, bench.now));
  CHECK(bench.broker.kick(client, 1, bench.now) == 1);
  CHECK(bench.state(b) == JobState::kReady);
  CHECK(bench.broker.kick(client, 9, bench.now) == 1);
  CHECK(bench.state(later) == JobState::kScheduled);
  CHECK(bench.broker.kick(client, 9, bench.now) == 1);
  CHECK(bench.state(later) == JobState::kReady);
}

TEST_CASE("kick: more than a slice goes on in ticks, and its end is told") {
  Bench bench;
  const ClientId client = bench.client();
  for (std::size_t i = 0; i < kSliceJobs + 1; ++i) {
    bench.put("x", {.queue = "default", .due = bench.now + 99s});
  }
  CHECK(bench.broker.kick(client, 1'000'000, bench.now) == std::nullopt);
  CHECK_FALSE(bench.delivered(client));
  bench.settle();
  CHECK(bench.delivered(client)->count == kSliceJobs + 1);
}

TEST_CASE("flush: queues that are pushed to meanwhile stay") {
  Bench bench;
  const ClientId client = bench.client();
  for (std::size_t i = 0; i < kSliceJobs; ++i) bench.push("x", "old");
  bench.push("x", "gone");
  CHECK_FALSE(bench.broker.admin().flush(client, bench.now));
  bench.push("y", "old");
  bench.push("y", "young");
  bench.settle();
  const View& view = bench.broker.view();
  CHECK(view.find_queue("gone") == nullptr);
  CHECK(view.find_queue("old")->is_kept);
  CHECK(view.find_queue("young")->is_kept);
}

TEST_CASE("kick-job: refuses ready and reserved jobs") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x");
  CHECK_FALSE(bench.broker.kick_job(id, bench.now));
  CHECK(bench.reserve(client) == id);
  CHECK_FALSE(bench.broker.kick_job(id, bench.now));
  CHECK(bench.broker.bury(client, id, 0, bench.now));
  CHECK(bench.broker.kick_job(id, bench.now));
  CHECK(bench.job(id).tallies().kicks == 1);
}

TEST_CASE("flush: removes everything in every state, and nothing that comes later") {
  Bench bench;
  const ClientId client = bench.client();
  for (std::size_t i = 0; i < kSliceJobs; ++i) bench.push("x", "mail");
  bench.put("x", {.queue = "default", .due = bench.now + 99s});
  CHECK(bench.fetch(client, "w", {"mail"}));
  CHECK_FALSE(bench.broker.admin().flush(client, bench.now));
  const JobId young = bench.put("young");
  bench.settle();
  CHECK(bench.delivered(client)->kind == Delivery::Kind::kFinished);
  CHECK(bench.has(young));
  CHECK(bench.broker.view().job_count(JobState::kReady) == 1);
  CHECK(bench.broker.view().job_count(JobState::kReserved) == 0);
  CHECK(bench.broker.view().job_count(JobState::kScheduled) == 0);
  CHECK(bench.broker.view().find_queue("mail") == nullptr);
}

// ---- workers ------------------------------------------------------------------------------------

TEST_CASE("ack: finishes the job and counts it") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.push("x");
  CHECK(bench.fetch(client, "w") == id);
  CHECK(bench.broker.workers().ack(client, "j1", bench.now));
  CHECK_FALSE(bench.has(id));
  CHECK_FALSE(bench.broker.workers().ack(client, "j1", bench.now));
  CHECK(bench.broker.view().counters().processed == 1);
}

TEST_CASE("ack: of a job that nobody holds is refused") {
  Bench bench;
  const ClientId client = bench.client();
  bench.push("x");
  CHECK_FALSE(bench.broker.workers().ack(client, "j1", bench.now));
}

TEST_CASE("ack: of two jobs of one name, the one that this worker holds") {
  Bench bench;
  const ClientId one = bench.client();
  const ClientId two = bench.client();
  CHECK(bench.broker.workers().add(one, {.wid = "one"}, bench.now));
  CHECK(bench.broker.workers().add(two, {.wid = "two"}, bench.now));
  const JobId first = bench.push("jid=same");
  const JobId second = bench.push("jid=same");
  CHECK(bench.fetch(one, "one") == first);
  CHECK(bench.fetch(two, "two") == second);
  CHECK(bench.broker.workers().ack(two, "same", bench.now));
  CHECK(bench.has(first));
  CHECK_FALSE(bench.has(second));
}

TEST_CASE("fail: the job is retried after its back-off, with its failure") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.push("x");
  CHECK(bench.fetch(client, "w") == id);
  CHECK(bench.broker.workers().fail(client, "j1", {"Oops", "why", {"line"}}, bench.now));
  CHECK(bench.state(id) == JobState::kRetrying);
  CHECK(bench.job(id).failure()->errtype == "Oops");
  bench.advance(14s);
  CHECK(bench.state(id) == JobState::kRetrying);
  bench.advance(31s);
  CHECK(bench.state(id) == JobState::kReady);
  CHECK(bench.job(id).failure()->message == "why");
  CHECK(bench.broker.view().counters().failed == 1);
}

TEST_CASE("fail: the last failure makes the job dead") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.push("retry=-1");
  CHECK(bench.fetch(client, "w") == id);
  CHECK(bench.broker.workers().fail(client, "j1", {}, bench.now));
  CHECK(bench.state(id) == JobState::kDead);
}

TEST_CASE("fail: a job without retries is dropped") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.push("retry=0");
  CHECK(bench.fetch(client, "w") == id);
  CHECK(bench.broker.workers().fail(client, "j1", {}, bench.now));
  CHECK_FALSE(bench.has(id));
}

TEST_CASE("worker hold: outlives the connection, and fails when reserve_for runs out") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.push("x");
  CHECK(bench.fetch(client, "w") == id);
  bench.leave(client);
  CHECK(bench.state(id) == JobState::kReserved);
  bench.advance(1800s);
  CHECK(bench.state(id) == JobState::kRetrying);
  CHECK(bench.job(id).failure()->errtype == "ReservationExpired");
}

TEST_CASE("beat: states move rightwards only") {
  Bench bench;
  const ClientId client = bench.client();
  CHECK(bench.broker.workers().add(client, {.wid = "w"}, bench.now));
  using State = Worker::State;
  CHECK(bench.broker.workers().beat("w", State::kQuiet, 1, bench.now).value() == State::kQuiet);
  CHECK(bench.broker.workers().beat("w", State::kRunning, 2, bench.now).value() == State::kQuiet);
  CHECK_FALSE(bench.broker.workers().beat("nobody", State::kRunning, 0, bench.now));
}

TEST_CASE("beat: a worker that turns quiet gets nothing for a FETCH that waits already") {
  Bench bench;
  const ClientId client = bench.client();
  CHECK(bench.broker.workers().add(client, {.wid = "w"}, bench.now));
  CHECK(bench.wait_for(client, {"default"}, "w"));
  CHECK(bench.broker.workers().beat("w", Worker::State::kQuiet, 0, bench.now));
  CHECK(bench.delivered(client)->kind == Delivery::Kind::kTimedOut);
  const JobId id = bench.push("x");
  CHECK(bench.state(id) == JobState::kReady);
}

TEST_CASE("beat: a silent worker is dropped and its connections are told to close") {
  Bench bench;
  const ClientId client = bench.client();
  CHECK(bench.broker.workers().add(client, {.wid = "w"}, bench.now));
  bench.advance(60s);
  CHECK_FALSE(bench.delivered(client));
  bench.advance(15s);
  CHECK(bench.delivered(client)->kind == Delivery::Kind::kEvicted);
  CHECK(bench.broker.view().workers().empty());
}

TEST_CASE("workers: gone with their last connection") {
  Bench bench;
  const ClientId one = bench.client();
  const ClientId two = bench.client();
  CHECK(bench.broker.workers().add(one, {.wid = "w"}, bench.now));
  CHECK(bench.broker.workers().add(two, {.wid = "w"}, bench.now));
  bench.leave(one);
  CHECK(bench.broker.view().workers().size() == 1);
  bench.leave(two);
  CHECK(bench.broker.view().workers().empty());
}

// ---- time ---------------------------------------------------------------------------------------

TEST_CASE("tick: moves at most a slice of what is due") {
  Bench bench;
  for (std::size_t i = 0; i < kSliceJobs + 1; ++i) {
    bench.put("x", {.queue = "default", .due = bench.now + 1s});
  }
  bench.now += 1s;
  CHECK(bench.broker.tick(bench.now) <= bench.now);
  CHECK(bench.broker.view().job_count(JobState::kReady) == kSliceJobs);
  CHECK(bench.broker.tick(bench.now) == kNever);
  CHECK(bench.broker.view().job_count(JobState::kScheduled) == 0);
}

TEST_CASE("tick: tells when the next thing is due") {
  Bench bench;
  bench.put("x", {.queue = "default", .due = bench.now + 7s});
  CHECK(bench.broker.tick(bench.now) == bench.now + 7s);
}

// ---- paging -------------------------------------------------------------------------------------

TEST_CASE("view: pages dead jobs oldest first, from a cursor on") {
  Bench bench;
  const ClientId client = bench.client();
  std::vector<JobId> buried;
  for (int i = 0; i < 3; ++i) {
    const JobId id = bench.put("x");
    CHECK(bench.reserve(client) == id);
    CHECK(bench.broker.bury(client, id, 0, bench.now));
    buried.push_back(id);
  }
  std::vector<JobId> seen;
  View::Cursor last;
  const auto see = [&](const Job& job) {
    seen.push_back(job.id);
    last = {job.when, job.id};
  };
  bench.broker.view().page(JobState::kDead, {}, 2, see);
  bench.broker.view().page(JobState::kDead, last, 2, see);
  CHECK((seen == buried));
}

TEST_CASE("view: pages ready jobs in the order of service") {
  Bench bench;
  const JobId second = bench.put("x", {.queue = "default", .pri = 2});
  const JobId first = bench.put("x", {.queue = "default", .pri = 1});
  std::vector<JobId> seen;
  const View& view = bench.broker.view();
  view.page_ready(*view.find_queue("default"), {}, 9,
                  [&](const Job& job) { seen.push_back(job.id); });
  CHECK((seen == std::vector<JobId>{first, second}));
}

}  // namespace millrace::test
