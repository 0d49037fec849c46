#include "core/state/throttle/lines.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "core/state/throttle/throttle_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

constexpr ThrottleLimits kOneOfKey{.timeout_s = 60, .per_key = 1};
constexpr ThrottleLimits kTwoOfKey{.timeout_s = 60, .per_key = 2};

/// A broker that limits the keys of the queue `default`.
struct Keys : ThrottleFixture {
  explicit Keys(const ThrottleLimits& limits = kOneOfKey) : ThrottleFixture(limits) {}

  JobId of(std::string_view key) { return push_one("T", key); }
  [[nodiscard]] const Lines* lines() const { return broker.view().queues().find("default")->lines; }
  [[nodiscard]] std::uint32_t taken(std::string_view key) const {
    const JobKey* const found = lines()->find(key);
    return found == nullptr ? 0 : found->taken;
  }
};

/// A job of `acme` runs, held by worker `a`; another one is ready, and a client waits.
struct WaitingForKey : Keys {
  WaitingForKey() {
    held = of("acme");
    ready = of("acme");
    CHECK(fetch(a, "a") == held);
    CHECK(wait_for(waiting, {"default"}, "w"));
  }
  ClientId a = worker("a");
  ClientId waiting = client();
  JobId held = 0;
  JobId ready = 0;
};

/// Clients of both protocols do something at random to a queue whose keys and one of whose types
/// are limited. What counts is compared with the jobs.
class RandomKeys : public ThrottleFixture {
 public:
  explicit RandomKeys(std::uint32_t seed) : ThrottleFixture(kLimits), random_(seed) {
    limit({{.pattern = "default", .limits = kLimits}, {.pattern = "type:Mail", .limits = kType}});
    for (int i = 0; i < 6; ++i) join();
  }

  void step() {
    const std::size_t place = random_() % clients_.size();
    const auto [client, wid] = clients_[place];
    switch (random_() % 12) {
      case 0:
      case 1:
        ids_.push_back(push_one(random_() % 3 == 0 ? "Mail" : "T", kKeys.at(random_() % 4)));
        return;
      case 2:
      case 3:
      case 4:
        static_cast<void>(fetch(client, wid));
        return;
      case 5:
        static_cast<void>(reserve(client));
        return;
      case 6:
        return end_one(client);
      case 7:
        static_cast<void>(broker.workers().fail(client, any_jid(), {}, now));
        return;
      case 8:
        advance(std::chrono::seconds(random_() % 4));
        for (const auto& [other, name] : clients_) {
          static_cast<void>(broker.workers().beat(name, Worker::State::kRunning, 0, now));
        }
        return;
      case 9:
        clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(place));
        leave(client);
        return join();
      case 10:
        return change_limits();
      default:
        settle();
    }
  }

  void check() {
    settle();
    std::map<std::string, std::uint32_t> running;
    std::uint32_t of_type = 0;
    for (JobId id = 1; id < broker.view().counters().next_id; ++id) {
      const Job* const job = broker.view().jobs().find(id);
      if (job == nullptr || job->state != JobState::kReserved) continue;
      if (is_young(*job, kLimits.timeout())) ++running[std::string(key_of(*job))];
      const bool is_mail = job->body_view().find("type=Mail,") != std::string_view::npos;
      if (is_mail && is_young(*job, kType.timeout())) ++of_type;
    }
    const Lines* const lines = broker.view().queues().find("default")->lines;
    REQUIRE((lines != nullptr && lines->has_keys()));
    for (std::size_t i = 1; i < kKeys.size(); ++i) {
      const JobKey* const key = lines->find(kKeys.at(i));
      REQUIRE((key == nullptr ? 0 : key->taken) == running[std::string(kKeys.at(i))]);
    }
    REQUIRE(throttle("type:Mail").taken() == of_type);
    check_served(running, of_type);
  }

 private:
  static constexpr ThrottleLimits kLimits{.timeout_s = 5, .per_key = 2};
  static constexpr ThrottleLimits kType{.concurrency = 2, .timeout_s = 7};
  static constexpr std::array<std::string_view, 4> kKeys{"", "acme", "bolt", "corp"};

  /// A client that asks gets a job if and only if some job may run.
  void check_served(const std::map<std::string, std::uint32_t>& running, std::uint32_t of_type) {
    bool may_run = false;
    for (JobId id = 1; id < broker.view().counters().next_id; ++id) {
      const Job* const job = broker.view().jobs().find(id);
      if (job == nullptr || job->state != JobState::kReady) continue;
      const bool is_mail = job->body_view().find("type=Mail,") != std::string_view::npos;
      const std::string key(key_of(*job));
      const auto found = running.find(key);
      const bool is_full =
          !key.empty() && found != running.end() && found->second >= throttle().limits.per_key;
      may_run = may_run || !(is_full || (is_mail && of_type >= kType.concurrency));
    }
    const ClientId asking = client();
    const std::optional<JobId> got = reserve(asking);
    REQUIRE(got.has_value() == may_run);
    leave(asking);
    settle();
  }
  void change_limits() {
    ThrottleLimits limits = kLimits;
    limits.per_key = 1 + random_() % 3;
    limit({{.pattern = "default", .limits = limits}, {.pattern = "type:Mail", .limits = kType}});
  }
  [[nodiscard]] static std::string_view key_of(const Job& job) {
    return job.features ? job.features->key() : "";
  }
  [[nodiscard]] bool is_young(const Job& job, Duration timeout) const {
    return job.reservation()->reserved_at + timeout > now;
  }
  void join() {
    const std::string wid = random_() % 3 == 0 ? "" : "w" + std::to_string(random_() % 3);
    clients_.emplace_back(wid.empty() ? client() : worker(wid), wid);
  }
  std::string any_jid() { return std::to_string(1 + random_() % (ids_.size() + 1)); }
  void end_one(ClientId client) {
    static_cast<void>(broker.workers().ack(client, any_jid(), now));
    if (ids_.empty()) return;
    static_cast<void>(broker.connections().remove(client, ids_[random_() % ids_.size()], now));
  }

  std::mt19937 random_;
  std::vector<std::pair<ClientId, std::string>> clients_;
  std::vector<JobId> ids_;
};

}  // namespace

TEST_CASE("keys: so many jobs of a key run at a time, and others are not held up") {
  Keys fixture(kTwoOfKey);
  for (int i = 0; i < 5; ++i) fixture.of("acme");
  const JobId other = fixture.of("bolt");
  const ClientId client = fixture.client();
  std::vector<JobId> got;
  while (const auto id = fixture.fetch(client, "w")) got.push_back(*id);
  CHECK(got.size() == 3);
  CHECK(std::count(got.begin(), got.end(), other) == 1);
  CHECK(fixture.taken("acme") == 2);
}

TEST_CASE("keys: they take turns") {
  Keys fixture({.timeout_s = 60, .per_key = 100});
  std::vector<JobId> acme;
  std::vector<JobId> bolt;
  for (int i = 0; i < 3; ++i) acme.push_back(fixture.of("acme"));
  for (int i = 0; i < 2; ++i) bolt.push_back(fixture.of("bolt"));
  const JobId none = fixture.of("");
  const ClientId client = fixture.client();
  std::vector<JobId> got;
  while (const auto id = fixture.fetch(client, "w")) got.push_back(*id);
  CHECK((got == std::vector<JobId>{acme[0], bolt[0], none, acme[1], bolt[1], acme[2]}));
}

TEST_CASE("keys: one whose jobs come one by one waits for its turn") {
  Keys fixture({.timeout_s = 60, .per_key = 100});
  const ClientId client = fixture.client();
  for (int i = 0; i < 3; ++i) fixture.of("acme");
  CHECK(fixture.fetch(client, "w") == 1);
  const JobId first = fixture.of("bolt");
  CHECK(fixture.fetch(client, "w") == 2);
  CHECK(fixture.fetch(client, "w") == first);
  fixture.of("bolt");
  CHECK(fixture.fetch(client, "w") == 3);
}

TEST_CASE("keys: a job that loses its lock while it waits does not cost its key the turn") {
  Keys fixture({.timeout_s = 60, .per_key = 100});
  NewJob unique{.kind = JobKind::kWorkUnit, .queue = "default", .ttr_s = 60};
  unique.features.emplace().throttle_key = std::string("acme");
  unique.features->lock_seconds = 1;
  unique.features->lock_key = KeyedHash{.high = 1, .low = 2};
  const JobId first = fixture.put("a", unique);
  fixture.of("bolt");
  fixture.advance(2s);
  unique.queue = "other";
  fixture.put("b", unique);
  REQUIRE_FALSE(fixture.broker.view().jobs().find(first)->holds_lock());
  CHECK(fixture.fetch(fixture.client(), "w") == first);
}

TEST_CASE("keys: within a key the priority and the order count") {
  Keys fixture({.timeout_s = 60, .per_key = 100});
  const JobId late = fixture.of("acme");
  NewJob urgent{.kind = JobKind::kWorkUnit, .queue = "default", .pri = 0, .ttr_s = 60};
  urgent.features.emplace().throttle_key = std::string("acme");
  NewJob slow{.kind = JobKind::kWorkUnit, .queue = "default", .pri = 9, .ttr_s = 60};
  slow.features.emplace().throttle_key = std::string("acme");
  const JobId last = fixture.put("c", slow);
  const JobId second = fixture.put("d", urgent);
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w") == late);
  CHECK(fixture.fetch(client, "w") == second);
  CHECK(fixture.fetch(client, "w") == last);
}

TEST_CASE("keys: what is in lines is counted, until it is gone") {
  Keys fixture;
  const LineCounts& counts = fixture.ledger.store().throttles().lines().counts();
  for (int i = 0; i < 2'000; ++i) fixture.of("key" + std::to_string(i % 1'500));
  CHECK(counts.jobs == 2'000);
  CHECK(counts.keys == 1'500);
  const ClientId client = fixture.client();
  const JobId id = fixture.fetch(client, "w").value();
  CHECK(counts.jobs == 1'999);
  fixture.ack(client, id);
  fixture.limit(ThrottleLimits{});
  fixture.settle();
  CHECK(counts.jobs == 0);
  CHECK(counts.keys == 0);
}

TEST_CASE("keys: jobs without a key have no limit") {
  Keys fixture;
  for (int i = 0; i < 4; ++i) fixture.of("");
  fixture.put("put");
  const ClientId client = fixture.client();
  for (int i = 0; i < 5; ++i) CHECK(fixture.reserve(client));
}

TEST_CASE("keys: one tenant with very many jobs does not hold up another one") {
  Keys fixture;
  for (int i = 0; i < 100'000; ++i) fixture.of("acme");
  const JobId other = fixture.of("bolt");
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w"));
  CHECK(fixture.fetch(client, "w") == other);
  CHECK_FALSE(fixture.fetch(client, "w"));
}

TEST_CASE("keys: the other limits of the queue hold too") {
  Keys fixture({.concurrency = 3, .worker = 2, .timeout_s = 60, .per_key = 1});
  for (const char* const key : {"a", "a", "b", "c", "d"}) fixture.of(key);
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "v"));
  CHECK(fixture.fetch(client, "v"));
  CHECK_FALSE(fixture.fetch(client, "v"));
  CHECK(fixture.fetch(client, "w"));
  CHECK_FALSE(fixture.fetch(client, "x"));
}

TEST_CASE("keys: a reserve over several tubes compares the jobs whose turn it is") {
  Keys fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.connections().watch(client, "other"));
  const JobId first = fixture.of("acme");
  fixture.of("acme");
  const JobId second = fixture.push_one("T", "", "other");
  const JobId third = fixture.of("bolt");
  CHECK(fixture.reserve(client) == first);
  CHECK(fixture.reserve(client) == second);
  CHECK(fixture.reserve(client) == third);
  CHECK_FALSE(fixture.reserve(client));
}

TEST_SUITE("keys: a client that waits has the next job of the key when") {
  TEST_CASE_FIXTURE(WaitingForKey, "a run succeeds") {
    ack(a, held);
    CHECK(got(waiting) == ready);
    CHECK(taken("acme") == 1);
  }
  TEST_CASE_FIXTURE(WaitingForKey, "a run fails") {
    CHECK(broker.workers().fail(a, "1", {}, now));
    CHECK(got(waiting) == ready);
  }
  TEST_CASE_FIXTURE(WaitingForKey, "an operator kills the running job") {
    CHECK(broker.admin().change_held(held, Mutation::Action::kKill, now));
    CHECK(got(waiting) == ready);
  }
  TEST_CASE_FIXTURE(WaitingForKey, "the worker is lost") {
    broker.admin().set_worker_rules({.timeout = 30s}, now);
    CHECK(broker.workers().beat("a", Worker::State::kRunning, 0, now));
    leave(a);
    CHECK_FALSE(got(waiting));
    advance(30s);
    CHECK(got(waiting) == ready);
  }
  TEST_CASE_FIXTURE(WaitingForKey, "not before: a client that never beats closes its connection") {
    broker.admin().set_worker_rules({.timeout = 30s}, now);
    leave(a);
    advance(50s);
    CHECK_FALSE(got(waiting));
    CHECK(taken("acme") == 1);
  }
  TEST_CASE_FIXTURE(WaitingForKey, "the job runs for longer than the timeout") {
    advance(59s);
    CHECK_FALSE(got(waiting));
    CHECK(broker.workers().beat("a", Worker::State::kRunning, 0, now));
    advance(1s);
    CHECK(got(waiting) == ready);
  }
  TEST_CASE_FIXTURE(WaitingForKey, "the limit is raised") {
    limit(kTwoOfKey);
    CHECK(got(waiting) == ready);
    CHECK(taken("acme") == 2);
  }
  TEST_CASE_FIXTURE(WaitingForKey, "the limit is dropped") {
    limit(std::vector<ThrottleRule>{});
    CHECK(got(waiting) == ready);
    CHECK(lines() == nullptr);
  }
  TEST_CASE_FIXTURE(WaitingForKey, "an operator raises the limit") {
    CHECK(broker.admin().set_throttle("default", kTwoOfKey, now));
    CHECK(got(waiting) == ready);
  }
  TEST_CASE_FIXTURE(WaitingForKey, "a job of another key comes") {
    const JobId other = of("bolt");
    CHECK(got(waiting) == other);
  }
  TEST_CASE_FIXTURE(WaitingForKey, "everything is flushed and a job comes") {
    static_cast<void>(broker.admin().flush(client(), now));
    settle();
    CHECK(lines()->key_count() == 0);
    const JobId late = of("acme");
    CHECK(got(waiting) == late);
  }
}

TEST_CASE("keys: a paused queue hands out nothing, whatever is free") {
  Keys fixture;
  fixture.of("acme");
  CHECK(fixture.broker.admin().pause("default", std::nullopt, fixture.now));
  CHECK_FALSE(fixture.fetch(fixture.client(), "a"));
  CHECK(fixture.broker.admin().pause("default", 0, fixture.now));
  CHECK(fixture.fetch(fixture.client(), "a"));
}

TEST_CASE("keys: jobs leave their lines as they leave the queue") {
  Keys fixture;
  const ClientId client = fixture.client();
  const JobId first = fixture.of("acme");
  const JobId second = fixture.of("acme");
  const JobId third = fixture.of("bolt");
  CHECK(fixture.broker.connections().remove(client, first, fixture.now));
  CHECK(fixture.broker.connections().reserve_job(client, third, fixture.now));
  CHECK(fixture.lines()->find("bolt")->taken == 1);
  CHECK(fixture.broker.connections().bury(client, third, 0, fixture.now));
  CHECK(fixture.lines()->find("bolt") == nullptr);
  CHECK(fixture.reserve(client) == second);
  CHECK(fixture.broker.connections().release(client, second, 0, 0, fixture.now));
  CHECK(fixture.taken("acme") == 0);
  CHECK(fixture.reserve(client) == second);
  CHECK(fixture.broker.connections().remove(client, second, fixture.now));
  CHECK(fixture.lines()->key_count() == 0);
}

TEST_CASE("keys: a queue with jobs in lines is removed") {
  Keys fixture;
  fixture.limit({{.pattern = "a", .limits = kOneOfKey}});
  for (int i = 0; i < 5; ++i) fixture.push_one("T", "acme", "a");
  const ClientId client = fixture.client();
  const JobId held = fixture.fetch(client, "w", {"a"}).value();
  static_cast<void>(fixture.broker.admin().remove_queues(fixture.client(), {"a"}, fixture.now));
  fixture.settle();
  fixture.ack(client, held);
  CHECK(fixture.broker.view().queues().find("a") == nullptr);
}

TEST_CASE("keys: a job that expires in the line is not handed out") {
  Keys fixture;
  NewJob job{.kind = JobKind::kWorkUnit, .queue = "default", .ttr_s = 60};
  job.features = JobFeatures{.expires_at = fixture.now + 5s};
  job.features->throttle_key = std::string("bolt");
  fixture.of("acme");
  const JobId expiring = fixture.put("type=T,", std::move(job));
  const JobId live = fixture.of("bolt");
  fixture.now += 6s;
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w"));
  CHECK(fixture.fetch(client, "w") == live);
  CHECK_FALSE(fixture.has(expiring));
}

TEST_CASE("keys: where the limit is lowered, running jobs finish") {
  Keys fixture({.timeout_s = 60, .per_key = 3});
  const ClientId client = fixture.client();
  std::vector<JobId> held;
  for (int i = 0; i < 5; ++i) fixture.of("acme");
  for (int i = 0; i < 3; ++i) held.push_back(fixture.fetch(client, "w").value());
  fixture.limit(kOneOfKey);
  for (const JobId id : held) {
    CHECK_FALSE(fixture.fetch(client, "w"));
    fixture.ack(client, id);
  }
  CHECK(fixture.fetch(client, "w"));
}

TEST_CASE("keys: lines of a queue with many jobs are made in slices, and freed so") {
  Keys fixture;
  fixture.limit(std::vector<ThrottleRule>{});
  const ClientId client = fixture.worker("w");
  for (std::size_t i = 0; i < 6 * kSliceJobs; ++i) fixture.of("acme");
  const JobId other = fixture.of("bolt");
  CHECK(fixture.fetch(client, "w"));
  const std::vector<ThrottleRule> list{{.pattern = "default", .limits = kOneOfKey}};
  fixture.broker.admin().set_throttle_rules(rules_of(list), fixture.now);
  // Until all are in lines the queue hands out nothing.
  CHECK_FALSE(fixture.fetch(client, "w"));
  CHECK(fixture.throttle().is_lining_up);
  // Jobs come and go meanwhile.
  const JobId late = fixture.of("bolt");
  CHECK(fixture.broker.connections().remove(client, 2, fixture.now));
  fixture.settle();
  CHECK(fixture.taken("acme") == 1);
  CHECK(fixture.fetch(client, "w") == other);
  CHECK_FALSE(fixture.fetch(client, "w"));
  fixture.broker.admin().set_throttle_rules({}, fixture.now);
  fixture.settle();
  CHECK(fixture.lines() == nullptr);
  CHECK(fixture.broker.connections().remove(client, late, fixture.now));
  CHECK(fixture.fetch(client, "w"));
}

TEST_CASE("keys: after a restart keys are full of the jobs that workers hold") {
  Keys before;
  for (const char* const key : {"acme", "acme", "bolt", ""}) before.of(key);
  CHECK(before.fetch(before.worker("a"), "a"));
  const std::string batch = before.ledger.take_batch();
  BrokerFixture after;
  after.now = before.now;
  CHECK(after.ledger.replay(batch, 0));
  const std::vector<ThrottleRule> list{{.pattern = "default", .limits = kOneOfKey}};
  after.broker.admin().set_throttle_rules(rules_of(list), after.now);
  const ClientId client = after.client();
  CHECK(after.fetch(client, "b") == 3);
  CHECK(after.fetch(client, "b") == 4);
  CHECK_FALSE(after.fetch(client, "b"));
  // The worker does not come back.
  after.advance(60s);
  CHECK(after.fetch(client, "b") == 2);
}

TEST_CASE("keys: limits of keys that an operator set are there after a restart") {
  ThrottleFixture before(ThrottleLimits{});
  CHECK(before.broker.admin().set_throttle("default", kTwoOfKey, before.now));
  for (int i = 0; i < 3; ++i) before.push_one("T", "acme");
  const std::string batch = before.ledger.take_batch();
  BrokerFixture after;
  after.now = before.now;
  CHECK(after.ledger.replay(batch, 0));
  after.broker.admin().set_throttle_rules({}, after.now);
  const ClientId client = after.client();
  CHECK(after.fetch(client, "b"));
  CHECK(after.fetch(client, "b"));
  CHECK_FALSE(after.fetch(client, "b"));
}

TEST_CASE("keys: a full type holds up no key, and a full key no type") {
  Keys fixture({.timeout_s = 60, .per_key = 2});
  fixture.limit({{.pattern = "default", .limits = kTwoOfKey},
                 {.pattern = "type:Mail", .limits = {.concurrency = 1, .timeout_s = 60}}});
  const JobId mail = fixture.push_one("Mail", "acme");
  const JobId held_up = fixture.push_one("Mail", "acme");
  const JobId acme = fixture.of("acme");
  fixture.push_one("Mail", "bolt");
  const JobId bolt = fixture.of("bolt");
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w") == mail);
  CHECK(fixture.fetch(client, "w") == bolt);
  CHECK(fixture.fetch(client, "w") == acme);
  CHECK_FALSE(fixture.fetch(client, "w"));
  fixture.ack(client, mail);
  const auto next = fixture.fetch(client, "w");
  CHECK((next && *next != held_up));
  CHECK_FALSE(fixture.fetch(client, "w"));
}

TEST_CASE("keys: what counts follows from the reservations, and what may run is handed out") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RandomKeys load(seed);
    for (int i = 0; i < 300; ++i) {
      load.step();
      load.check();
    }
  }
}

}  // namespace millrace::test
