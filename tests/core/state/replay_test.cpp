#include <random>

#include "core/bench.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

/// A batch and its place in the log.
struct Placed {
  Lsn begin;
  std::string batch;
};
using Log = std::vector<Placed>;

/// Does random things to a broker, and writes down its batches as a journal would.
class History {
 public:
  explicit History(std::uint64_t seed) : bench(seed), random_(seed) {
    for (int i = 0; i < 4; ++i) clients_.push_back(bench.client());
  }

  void step() {
    const ClientId client = clients_[pick(clients_.size())];
    const JobId id = 1 + pick(bench.broker.view().counters().next_id);
    act(client, id);
    if (pick(4) == 0) append();
  }

  /// Writes a part of what is needed of the log's beginning once more, and cuts off what is not.
  void clean() {
    if (log.empty()) return;
    const Lsn before = log[pick(log.size())].begin;
    bench.ledger.rewrite(before, 1 + pick(300));
    const Lsn needed = bench.ledger.oldest_needed();
    bench.ledger.write_totals();
    append();
    while (log.size() > 1 && log[1].begin <= needed) log.erase(log.begin());
  }

  /// Nobody holds a job by connection any more, so that everything is told.
  void finish() {
    for (const ClientId client : clients_) bench.leave(client);
    bench.settle();
    append();
  }

  Bench bench;
  Log log;

 private:
  void append() {
    std::string batch = bench.ledger.take_batch();
    if (batch.empty()) return;
    end_ += 24;  // room for a frame's header
    bench.ledger.place(end_);
    log.push_back({.begin = end_, .batch = batch});
    end_ += batch.size();
  }

  std::size_t pick(std::size_t end) { return random_() % end; }
  std::string_view queue() {
    static constexpr std::string_view kNames[] = {"default", "mail", "slow"};
    return kNames[pick(3)];
  }

  void act(ClientId client, JobId id) {
    const auto pri = static_cast<Pri>(pick(3));
    const auto delay = static_cast<std::uint32_t>(pick(3));
    const std::string jid = "j" + std::to_string(id);
    switch (pick(21)) {
      case 0:
      case 1:
        bench.put("body", {.queue = queue(), .pri = pri, .ttr_s = 2});
        break;
      case 2:
        bench.put("later", {.queue = queue(), .due = bench.now + 1s * delay});
        break;
      case 3:
        bench.push("retry=2", queue());
        break;
      case 4:
        bench.push("retry=-1", queue());
        break;
      case 5:
        bench.reserve(client);
        break;
      case 6:
        (void)bench.broker.reserve_job(client, id, bench.now);
        break;
      case 7:
        (void)bench.broker.remove(client, id, bench.now);
        break;
      case 8:
        (void)bench.broker.release(client, id, pri, delay, bench.now);
        break;
      case 9:
        (void)bench.broker.bury(client, id, pri, bench.now);
        break;
      case 10:
        (void)bench.broker.kick(client, 3, bench.now);
        break;
      case 11:
        bench.fetch(client, "w", {queue(), queue()});
        break;
      case 12:
        (void)bench.broker.workers().ack(client, jid, bench.now);
        break;
      case 13:
        (void)bench.broker.workers().fail(client, jid, {"E", "m", {"b"}}, bench.now);
        break;
      case 14:
        bench.advance(std::chrono::milliseconds(pick(1500)));
        break;
      case 15:
        (void)bench.broker.admin().pause(queue(), delay, bench.now);
        break;
      case 16:
        (void)bench.broker.admin().mutate(client, mutation(), bench.now);
        break;
      case 17:
        if (pick(8) == 0) {
          (void)bench.broker.admin().remove_queues(client, {std::string(queue())}, bench.now);
        }
        break;
      case 18:
        if (bench.has(id)) give_back(id);
        break;
      case 20:
        (void)bench.broker.admin().change_held(id, mutation().action, bench.now);
        break;
      case 19:
        if (pick(8) == 0) bench.advance(24h);
        break;
    }
  }

  Mutation mutation() {
    static constexpr JobState kSets[] = {JobState::kScheduled, JobState::kRetrying,
                                         JobState::kDead};
    static constexpr Mutation::Action kActions[] = {
        Mutation::Action::kDiscard, Mutation::Action::kKill, Mutation::Action::kRequeue};
    const std::size_t odd = pick(2);
    return {.set = kSets[pick(3)],
            .action = kActions[pick(3)],
            .matches = [odd](const Job& job, const Queue&, Steps&) {
              return job.id % 2 == odd ? Match::kYes : Match::kNo;
            }};
  }

  void give_back(JobId id) {
    const Reservation* held = bench.job(id).reservation();
    if (held != nullptr) (void)bench.broker.workers().undo_fetch(id, held->reserved_at, bench.now);
  }

  std::mt19937_64 random_;
  std::vector<ClientId> clients_;
  Lsn end_ = 16;
};

std::string replayed(const Log& log) {
  Bench fresh;
  for (const Placed& each : log) REQUIRE(fresh.ledger.replay(each.batch, each.begin));
  return tell(fresh.broker.view());
}

}  // namespace

TEST_CASE("replay: the log gives the live state, after any history") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    History history(seed);
    for (int i = 0; i < 400; ++i) history.step();
    history.finish();
    CHECK((replayed(history.log) == tell(history.bench.broker.view())));
  }
}

TEST_CASE("replay: a log that is cleaned all the time gives the live state, and stays short") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    History history(seed);
    for (int i = 0; i < 400; ++i) {
      history.step();
      if (i % 5 == 0) history.clean();
    }
    history.finish();
    CHECK((replayed(history.log) == tell(history.bench.broker.view())));
  }
}

TEST_CASE("replay: a log whose whole beginning was written once more holds nothing else") {
  History history(11);
  for (int i = 0; i < 4000; ++i) history.step();
  history.finish();
  const Lsn end = history.log.back().begin + history.log.back().batch.size();
  history.bench.ledger.rewrite(end, SIZE_MAX);
  CHECK(history.bench.ledger.oldest_needed() == UINT64_MAX);
  history.bench.ledger.write_totals();
  const std::string batch = history.bench.ledger.take_batch();
  // The totals and the days are not counted.
  CHECK(batch.size() <= history.bench.ledger.live_bytes() + 200);
  CHECK(batch.size() >= history.bench.ledger.live_bytes());
  CHECK((replayed({{.begin = end, .batch = batch}}) == tell(history.bench.broker.view())));
}

TEST_CASE("replay: applying the log twice changes nothing") {
  History history(7);
  for (int i = 0; i < 400; ++i) history.step();
  history.finish();
  Log twice = history.log;
  twice.insert(twice.end(), history.log.begin(), history.log.end());
  CHECK((replayed(twice) == replayed(history.log)));
}

TEST_CASE("replay: a job in a connection's hands is ready afterwards") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x");
  CHECK(bench.reserve(client) == id);
  Bench fresh;
  REQUIRE(fresh.ledger.replay(bench.ledger.take_batch(), 1));
  CHECK(fresh.state(id) == JobState::kReady);
}

TEST_CASE("replay: a job in a worker's hands stays there, and can be acknowledged") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.push("x");
  CHECK(bench.fetch(client, "w") == id);
  Bench fresh;
  REQUIRE(fresh.ledger.replay(bench.ledger.take_batch(), 1));
  CHECK(fresh.state(id) == JobState::kReserved);
  CHECK(fresh.broker.workers().ack(fresh.client(), "j1", fresh.now));
}

TEST_CASE("replay: ids are never given twice") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x");
  CHECK(bench.broker.remove(client, id, bench.now));
  Bench fresh;
  REQUIRE(fresh.ledger.replay(bench.ledger.take_batch(), 1));
  CHECK(fresh.put("y") > id);
}

TEST_CASE("replay: buried jobs keep their order") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId a = bench.put("a");
  const JobId b = bench.put("b");
  CHECK(bench.reserve(client) == a);
  CHECK(bench.reserve(client) == b);
  CHECK(bench.broker.bury(client, b, 0, bench.now));
  CHECK(bench.broker.bury(client, a, 0, bench.now));
  Bench fresh;
  REQUIRE(fresh.ledger.replay(bench.ledger.take_batch(), 1));
  const View& view = fresh.broker.view();
  CHECK(view.first_dead(*view.find_queue("default"))->id == b);
}

TEST_CASE("replay: a pause that goes on afterwards ends, and serves who waits") {
  Bench bench;
  const JobId id = bench.put("x");
  CHECK(bench.broker.admin().pause("default", 8, bench.now));
  Bench fresh;
  REQUIRE(fresh.ledger.replay(bench.ledger.take_batch(), 1));
  const ClientId client = fresh.client();
  CHECK(fresh.wait(client));
  fresh.advance(8s);
  CHECK(fresh.delivered(client)->job == id);
}

TEST_CASE("replay: a queue without jobs that is paused without end stays paused") {
  Bench bench;
  const ClientId user = bench.client();
  CHECK(bench.broker.use(user, "t"));
  CHECK(bench.broker.admin().pause("t", std::nullopt, bench.now));
  bench.put("x", {.queue = "t"});
  Bench fresh;
  REQUIRE(fresh.ledger.replay(bench.ledger.take_batch(), 1));
  CHECK(fresh.fetch(fresh.client(), "w", {"t"}) == std::nullopt);
}

TEST_CASE("replay: damage in a batch is a problem, not a crash") {
  Bench bench;
  bench.put("x");
  std::string batch = bench.ledger.take_batch();
  batch.pop_back();
  Bench fresh;
  CHECK_FALSE(fresh.ledger.replay(batch, 1));
}

}  // namespace millrace::test
