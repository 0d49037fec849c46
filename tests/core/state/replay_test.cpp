#include <random>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

/// Some of the jobs that have ended, as few as are soon displaced.
Broker::Options options(std::uint64_t seed) {
  return {.random_seed = seed,
          .finished = {.jobs_max = 5, .age_max = FinishedJobs::kAgeMax, .is_durable = true}};
}

/// A batch and its place in the log.
struct Placed {
  Lsn begin;
  std::string batch;
};
using Log = std::vector<Placed>;

/// Reads from a log as it was written, and at times fails to.
class FlakyLog final : public Journal {
 public:
  FlakyLog(const Log& log, std::uint64_t seed) : log_(log), random_(seed) {}

  Outcome<Done> replay(const Visitor&) override { return Done{}; }
  [[nodiscard]] Epoch epoch() const override { return kOnlyEpoch; }
  Result<Span, Deposed> append(Epoch, RecordBatch) override { return Deposed{}; }
  [[nodiscard]] Lsn durable() const override { return 0; }
  void on_durable(std::function<void()>) override {}
  Outcome<std::string> read(Lsn begin, std::size_t size) override {
    const std::uint64_t chance = is_flaky ? random_() % 8 : 8;
    if (chance < 2) return Problem{.text = "unreadable", .is_passing = chance == 1};
    for (const Placed& each : log_) {
      const bool is_in = each.begin <= begin && begin < each.begin + each.batch.size();
      if (is_in) return each.batch.substr(begin - each.begin, size);
    }
    return Problem{"not there"};
  }
  void expect(Lsn, std::size_t) override {}
  [[nodiscard]] Extent extent() const override { return {}; }
  std::size_t trim(Lsn) override { return 0; }
  void sync() override {}

  bool is_flaky = true;

 private:
  const Log& log_;
  std::mt19937_64 random_;
};

/// Does random things to a broker, and writes down its batches as a journal would.
class History {
 public:
  explicit History(std::uint64_t seed) : fixture(options(seed)), random_(seed) {
    for (int i = 0; i < 4; ++i) clients_.push_back(fixture.client());
  }

  /// All bodies are in the log only, which at times does not give them.
  void keep_bodies_in(FlakyLog& flaky) { fixture.ledger.memory().limit(flaky, 0); }

  void step() {
    const ClientId client = clients_[pick(clients_.size())];
    const JobId id = 1 + pick(fixture.broker.view().counters().next_id);
    act(client, id);
    if (pick(4) == 0) append();
  }

  /// Writes a part of what is needed of the log's beginning once more, and cuts off what is not.
  void clean() {
    if (log.empty()) return;
    const Lsn before = log[pick(log.size())].begin;
    fixture.ledger.rewrite(before, 1 + pick(300));
    fixture.broker.see_to_missing_bodies(fixture.now);
    const Lsn needed = fixture.ledger.oldest_needed().value_or(end_);
    append();
    while (log.size() > 1 && log[1].begin <= needed) log.erase(log.begin());
  }

  /// Nobody holds a job by connection any more, so that everything is told.
  void finish() {
    for (const ClientId client : clients_) fixture.leave(client);
    fixture.settle();
    append();
  }

  BrokerFixture fixture;
  Log log;

 private:
  void append() {
    std::string batch = fixture.ledger.take_batch();
    if (batch.empty()) return;
    end_ += 24;  // room for a frame's header
    fixture.ledger.place(end_);
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
    switch (pick(24)) {
      case 0:
      case 1:
        fixture.put("body", {.queue = queue(), .pri = pri, .ttr_s = 2});
        break;
      case 2:
        fixture.put("later", {.queue = queue(), .due = fixture.now + 1s * delay});
        break;
      case 3:
        fixture.push("retry=2", queue());
        break;
      case 4:
        fixture.push("retry=-1", queue());
        break;
      case 5:
        fixture.reserve(client);
        break;
      case 6:
        (void)fixture.broker.connections().reserve_job(client, id, fixture.now);
        break;
      case 7:
        (void)fixture.broker.connections().remove(client, id, fixture.now);
        break;
      case 8:
        (void)fixture.broker.connections().release(client, id, pri, delay, fixture.now);
        break;
      case 9:
        (void)fixture.broker.connections().bury(client, id, pri, fixture.now);
        break;
      case 10:
        (void)fixture.broker.connections().kick(client, 3, fixture.now);
        break;
      case 11:
        fixture.fetch(client, "w", {queue(), queue()});
        break;
      case 12:
        (void)fixture.broker.workers().ack(client, jid, fixture.now);
        break;
      case 13:
        (void)fixture.broker.workers().fail(client, jid, {"E", "m", {"b"}}, fixture.now);
        break;
      case 14:
        fixture.advance(std::chrono::milliseconds(pick(1500)));
        break;
      case 15:
        (void)fixture.broker.admin().pause(queue(), delay, fixture.now);
        break;
      case 16:
        (void)fixture.broker.admin().mutate(client, mutation(), fixture.now);
        break;
      case 17:
        if (pick(8) == 0) {
          (void)fixture.broker.admin().remove_queues(client, {std::string(queue())}, fixture.now);
        }
        break;
      case 18:
        if (fixture.has(id)) give_back(id);
        break;
      case 21:
        push_tracked();
        break;
      case 22:
      case 23:
        (void)fixture.broker.workers().set_track(client,
                                                 {.jid = jid,
                                                  .percent = static_cast<std::uint8_t>(pick(100)),
                                                  .desc = "so far",
                                                  .reserve_until = fixture.now + 1s * pick(3)},
                                                 fixture.now);
        break;
      case 20:
        (void)fixture.broker.admin().change_held(id, mutation().action, fixture.now);
        break;
      case 19:
        if (pick(8) == 0) fixture.advance(24h);
        break;
    }
  }

  void push_tracked() {
    JobFeatures features;
    features.is_tracked = 1;
    features.jid_hash = jid_hash("j" + std::to_string(fixture.broker.view().counters().next_id));
    fixture.put("retry=1",
                {.kind = JobKind::kWorkUnit, .queue = queue(), .ttr_s = 2, .features = features});
  }

  Mutation mutation() {
    static constexpr JobState kSets[] = {JobState::kScheduled, JobState::kRetrying,
                                         JobState::kDead};
    static constexpr Mutation::Action kActions[] = {
        Mutation::Action::kDiscard, Mutation::Action::kKill, Mutation::Action::kRequeue,
        Mutation::Action::kMove};
    const std::size_t odd = pick(2);
    return {.set = kSets[pick(3)],
            .action = kActions[pick(4)],
            .to = std::string(queue()),
            .matches = [odd](const Job& job, const Queue&, Steps&) {
              return job.id % 2 == odd ? Match::kYes : Match::kNo;
            }};
  }

  void give_back(JobId id) {
    const Reservation* held = fixture.job(id).reservation();
    if (held != nullptr)
      (void)fixture.broker.workers().undo_fetch(id, held->reserved_at, fixture.now);
  }

  std::mt19937_64 random_;
  std::vector<ClientId> clients_;
  Lsn end_ = 16;
};

/// Bodies that could not be read, as the log has them by now.
std::string tell_bodies(const BrokerFixture& fixture) {
  std::string out;
  const Jobs& jobs = fixture.ledger.store().jobs();
  for (JobId id = 1; id < fixture.broker.view().counters().next_id; ++id) {
    const Job* const job = jobs.find(id);
    if (job == nullptr || !job->has_mark(job_marks::kBodyUnreadable)) continue;
    CHECK(job->failure() != nullptr);
    out += std::to_string(job->id) + " " + std::to_string(job->body_bytes) + " ";
  }
  return out;
}

/// Also what is known of jobs by their names.
std::string tell_all(const BrokerFixture& fixture) {
  std::string out = tell(fixture.broker.view());
  for (JobId id = 1; id < fixture.broker.view().counters().next_id; ++id) {
    const std::string jid = "j" + std::to_string(id);
    if (const Track* const track = fixture.ledger.store().tracks().find(jid)) {
      out += "track " + jid + " " + std::to_string(track->percent) + "/" + track->desc + "/" +
             std::to_string(static_cast<int>(track->end)) + "/" +
             std::to_string(track->updated_at.time_since_epoch().count()) + "\n";
    }
  }
  const Store& store = fixture.ledger.store();
  store.finished().each_before(store.finished().end(), Time{}, [&](auto, const FinishedJob& job) {
    out += "finished " + std::to_string(job.id) + " " + std::string(job.queue()) + " " +
           std::to_string(static_cast<int>(job.how)) + "/" +
           std::to_string(job.ended_at.time_since_epoch().count()) + "\n";
    return true;
  });
  return out + tell_bodies(fixture) + std::to_string(store.tracks().size()) + " tracks, " +
         std::to_string(store.jobs().tracked().size()) + " tracked jobs\n";
}

std::string replayed(const Log& log) {
  BrokerFixture fresh(options(1));
  for (const Placed& each : log) REQUIRE(fresh.ledger.replay(each.batch, each.begin));
  return tell_all(fresh);
}

/// The first line in which they differ.
std::string difference(std::string_view after, std::string_view live) {
  const std::size_t at = static_cast<std::size_t>(
      std::mismatch(after.begin(), after.end(), live.begin(), live.end()).first - after.begin());
  const std::size_t begin = after.rfind('\n', at) + 1;
  const auto line = [begin](std::string_view text) {
    return std::string(text.substr(begin, text.find('\n', begin) - begin));
  };
  return line(after) + " is live: " + line(live);
}

}  // namespace

TEST_CASE("replay: the log gives the live state, after any history") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    History history(seed);
    for (int i = 0; i < 400; ++i) history.step();
    history.finish();
    CHECK((replayed(history.log) == tell_all(history.fixture)));
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
    CHECK((replayed(history.log) == tell_all(history.fixture)));
  }
}

TEST_CASE(
    "replay: the log gives the live state where bodies cannot be read, and none that is wrong") {
  std::size_t unreadable = 0;
  std::size_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    History history(seed);
    FlakyLog flaky(history.log, seed);
    history.keep_bodies_in(flaky);
    for (int i = 0; i < 400; ++i) {
      history.step();
      if (i % 5 == 0) history.clean();
    }
    history.finish();
    flaky.is_flaky = false;
    const Jobs& jobs = history.fixture.ledger.store().jobs();
    for (JobSlot slot = 0; slot < jobs.slot_end(); ++slot) {
      const Job* const job = jobs.in_slot(slot);
      if (job != nullptr && !jobs.reload_body(*job)) ++lost;
    }
    const std::string after = replayed(history.log);
    const std::string live = tell_all(history.fixture);
    CHECK_MESSAGE(after == live, difference(after, live));
    unreadable += history.fixture.broker.view().tally().bodies_unreadable;
  }
  CHECK(unreadable > 1000);
  CHECK(lost > 50);
}

TEST_CASE("replay: a log whose whole beginning was written once more holds nothing else") {
  History history(11);
  for (int i = 0; i < 4000; ++i) history.step();
  history.finish();
  const Lsn end = history.log.back().begin + history.log.back().batch.size();
  history.fixture.ledger.rewrite(end, SIZE_MAX);
  CHECK(history.fixture.ledger.oldest_needed() == std::nullopt);
  const std::string batch = history.fixture.ledger.take_batch();
  CHECK(batch.size() == history.fixture.ledger.live_bytes());
  CHECK((replayed({{.begin = end, .batch = batch}}) == tell_all(history.fixture)));
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
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  CHECK(fixture.reserve(client) == id);
  BrokerFixture fresh;
  REQUIRE(fresh.ledger.replay(fixture.ledger.take_batch(), 1));
  CHECK(fresh.state(id) == JobState::kReady);
}

TEST_CASE("replay: a job in a worker's hands stays there, and can be acknowledged") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x");
  CHECK(fixture.fetch(client, "w") == id);
  BrokerFixture fresh;
  REQUIRE(fresh.ledger.replay(fixture.ledger.take_batch(), 1));
  CHECK(fresh.state(id) == JobState::kReserved);
  CHECK(fresh.broker.workers().ack(fresh.client(), "j1", fresh.now));
}

TEST_CASE("replay: ids are never given twice") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  CHECK(fixture.broker.connections().remove(client, id, fixture.now));
  BrokerFixture fresh;
  REQUIRE(fresh.ledger.replay(fixture.ledger.take_batch(), 1));
  CHECK(fresh.put("y") > id);
}

TEST_CASE("replay: buried jobs keep their order") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId a = fixture.put("a");
  const JobId b = fixture.put("b");
  CHECK(fixture.reserve(client) == a);
  CHECK(fixture.reserve(client) == b);
  CHECK(fixture.broker.connections().bury(client, b, 0, fixture.now));
  CHECK(fixture.broker.connections().bury(client, a, 0, fixture.now));
  BrokerFixture fresh;
  REQUIRE(fresh.ledger.replay(fixture.ledger.take_batch(), 1));
  const View& view = fresh.broker.view();
  CHECK(view.jobs().first_dead(*view.queues().find("default"))->id == b);
}

TEST_CASE("replay: a pause that is in force afterwards ends, and serves waiting clients") {
  BrokerFixture fixture;
  const JobId id = fixture.put("x");
  CHECK(fixture.broker.admin().pause("default", 8, fixture.now));
  BrokerFixture fresh;
  REQUIRE(fresh.ledger.replay(fixture.ledger.take_batch(), 1));
  const ClientId client = fresh.client();
  CHECK(fresh.wait(client));
  fresh.advance(8s);
  CHECK(fresh.delivered(client)->job == id);
}

TEST_CASE("replay: a queue without jobs that is paused without end stays paused") {
  BrokerFixture fixture;
  const ClientId user = fixture.client();
  CHECK(fixture.broker.connections().use(user, "t"));
  CHECK(fixture.broker.admin().pause("t", std::nullopt, fixture.now));
  fixture.put("x", {.queue = "t"});
  BrokerFixture fresh;
  REQUIRE(fresh.ledger.replay(fixture.ledger.take_batch(), 1));
  CHECK(fresh.fetch(fresh.client(), "w", {"t"}) == std::nullopt);
}

TEST_CASE("replay: damage in a batch is a problem, not a crash") {
  BrokerFixture fixture;
  fixture.put("x");
  std::string batch = fixture.ledger.take_batch();
  batch.pop_back();
  BrokerFixture fresh;
  CHECK_FALSE(fresh.ledger.replay(batch, 1));
}

}  // namespace millrace::test
