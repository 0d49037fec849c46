#include "core/state/throttle/throttles.hpp"

#include <algorithm>
#include <optional>
#include <random>

#include "core/state/throttle/throttle_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

/// A server after a restart: what `before` has written, and no connection.
struct Restarted {
  explicit Restarted(ThrottleFixture& before) : batch(before.ledger.take_batch()) {
    after.now = before.now;
    CHECK(after.ledger.replay(batch, 0));
  }
  std::string batch;
  BrokerFixture after;

  void limit(const ThrottleLimits& limits) {
    after.broker.admin().set_throttle_rules(rules_of({{.pattern = "default", .limits = limits}}),
                                            after.now);
  }
  [[nodiscard]] const Throttle& throttle() const {
    return *after.broker.view().throttles().table().find("default");
  }
};

/// Workers `a` and `b` held a job each before a restart. Since then `a` has come back.
struct OneIsBack {
  OneIsBack() {
    before.push_many(4);
    CHECK(before.fetch(before.worker("a"), "a"));
    CHECK(before.fetch(before.worker("b"), "b"));
    restarted.emplace(before);
    restarted->limit(kLong);
    BrokerFixture& after = restarted->after;
    back = after.client();
    CHECK(after.broker.workers().add(back, {.wid = "a", .hostname = {}, .labels = {}}, after.now));
  }

  static constexpr ThrottleLimits kLong{.concurrency = 2, .timeout_s = 3600};
  ThrottleFixture before{kLong};
  std::optional<Restarted> restarted;
  ClientId back = 0;
};

/// Clients of both protocols do something at random, to a queue with both kinds of limits.
class RandomLoad : public ThrottleFixture {
 public:
  explicit RandomLoad(std::uint32_t seed) : ThrottleFixture(kLimits), random_(seed) {
    for (int i = 0; i < 6; ++i) join();
  }

  void step() {
    const std::size_t place = random_() % clients_.size();
    const auto [client, wid] = clients_[place];
    switch (random_() % 10) {
      case 0:
        push_many(3);
        return;
      case 1:
        put("x");
        return;
      case 2:
      case 3:
        static_cast<void>(fetch(client, wid));
        return;
      case 4:
        static_cast<void>(reserve(client));
        return;
      case 5:
        return end_one(client);
      case 6:
        static_cast<void>(broker.workers().fail(client, any_jid(), {}, now));
        return;
      case 7:
        advance(std::chrono::seconds(random_() % 4));
        for (const auto& [other, name] : clients_) {
          static_cast<void>(broker.workers().beat(name, Worker::State::kRunning, 0, now));
        }
        return;
      case 8:
        clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(place));
        leave(client);
        return join();
      default:
        settle();
    }
  }

  /// By definition: of the reservations, those that are young enough and whose workers live.
  [[nodiscard]] std::uint32_t slots_by_reservations() const {
    std::uint32_t count = 0;
    for (JobId id = 1; id < broker.view().counters().next_id; ++id) {
      const Job* const job = broker.view().jobs().find(id);
      if (job == nullptr || job->state != JobState::kReserved) continue;
      const Reservation& held = *job->reservation();
      const bool is_young = held.reserved_at + kLimits.timeout() > now;
      if (is_young) ++count;
    }
    return count;
  }

  static constexpr ThrottleLimits kLimits{.concurrency = 4, .worker = 2, .timeout_s = 5};

 private:
  void join() {
    const std::string wid = random_() % 3 == 0 ? "" : "w" + std::to_string(random_() % 3);
    clients_.emplace_back(wid.empty() ? client() : worker(wid), wid);
  }
  std::string any_jid() { return std::to_string(1 + random_() % 40); }
  void end_one(ClientId client) {
    static_cast<void>(broker.workers().ack(client, any_jid(), now));
    for (JobId id = 1; id < broker.view().counters().next_id; ++id) {
      if (random_() % 4 == 0) static_cast<void>(broker.connections().remove(client, id, now));
    }
  }

  std::mt19937 random_;
  std::vector<std::pair<ClientId, std::string>> clients_;
};

}  // namespace

TEST_CASE("throttles: what counts follows from the reservations, whatever happens") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RandomLoad load(seed);
    for (int i = 0; i < 300; ++i) {
      load.step();
      load.settle();
      REQUIRE(load.throttle().taken() == load.slots_by_reservations());
    }
  }
}

TEST_CASE("throttles: after a restart a queue is full of the jobs that workers hold") {
  ThrottleFixture before(kTwo);
  before.push_many(3);
  const ClientId client = before.worker("a");
  CHECK(before.fetch(client, "a"));
  CHECK(before.fetch(before.client(), ""));
  Restarted restarted(before);
  restarted.limit(kTwo);
  CHECK(restarted.throttle().taken() == 2);
  CHECK_FALSE(restarted.after.fetch(restarted.after.client(), "b"));
}

TEST_CASE("throttles: after a restart a queue is free of the jobs that connections held") {
  ThrottleFixture before(kTwo);
  before.put("a");
  before.put("b");
  const ClientId client = before.client();
  CHECK(before.reserve(client));
  CHECK(before.reserve(client));
  Restarted restarted(before);
  restarted.limit(kTwo);
  CHECK(restarted.after.reserve(restarted.after.client()));
}

TEST_CASE("throttles: workers that do not come back after a restart keep their slots") {
  OneIsBack one;
  BrokerFixture& after = one.restarted->after;
  after.leave(one.back);
  after.advance(600s);
  CHECK(one.restarted->throttle().taken() == 2);
  // Another timeout: all are counted anew.
  one.restarted->limit({.concurrency = 2, .timeout_s = 1800});
  after.settle();
  CHECK(one.restarted->throttle().taken() == 2);
}

TEST_CASE("throttles: what workers hold counts after a restart when the limits come later") {
  ThrottleFixture before({});
  before.push_many(1);
  CHECK(before.fetch(before.worker("a"), "a"));
  Restarted restarted(before);
  BrokerFixture& after = restarted.after;
  restarted.limit({});
  restarted.limit({.concurrency = 1, .timeout_s = 3600});
  after.settle();
  CHECK(restarted.throttle().taken() == 1);
}

TEST_CASE("throttles: a job that is too old when it is counted is not told of again") {
  constexpr ThrottleLimits kShort{.concurrency = 1, .timeout_s = 5};
  ThrottleFixture before(kShort);
  before.push_many(1);
  CHECK(before.fetch(before.worker("a"), "a"));
  before.advance(5s);
  CHECK(before.throttle().overage == 1);
  before.limit({.concurrency = 1, .timeout_s = 4});
  CHECK(before.throttle().taken() == 0);
  CHECK(before.throttle().overage == 1);
  Restarted restarted(before);
  restarted.limit(kShort);
  restarted.after.settle();
  CHECK(restarted.throttle().taken() == 0);
  CHECK(restarted.throttle().overage == 0);
}

TEST_CASE("throttles: a job that was too old when it was counted does not count when touched") {
  ThrottleFixture fixture({.concurrency = 1, .timeout_s = 60});
  const ClientId client = fixture.client();
  const JobId id = fixture.put("a", {.queue = "default", .ttr_s = 600});
  CHECK(fixture.reserve(client) == id);
  fixture.advance(10s);
  fixture.limit({.concurrency = 1, .timeout_s = 5});
  CHECK(fixture.broker.connections().touch(client, id, fixture.now));
  CHECK(fixture.throttle().taken() == 0);
  CHECK(fixture.throttle().overage == 0);
  // Under a longer timeout it counts once more.
  fixture.limit({.concurrency = 1, .timeout_s = 60});
  CHECK(fixture.throttle().taken() == 1);
}

TEST_CASE("throttles: after a restart the oldest slot ends first, whatever its deadline is") {
  constexpr ThrottleLimits kShort{.concurrency = 2, .timeout_s = 5};
  ThrottleFixture before(kShort);
  before.push_many(2);
  const ClientId worker = before.worker("a");
  CHECK(before.fetch(worker, "a"));
  const TrackUpdate update{.jid = "1", .reserve_until = before.now + 1h};
  CHECK(before.broker.workers().set_track(worker, update, before.now));
  before.advance(3s);
  CHECK(before.fetch(worker, "a"));
  Restarted restarted(before);
  restarted.limit(kShort);
  restarted.after.advance(2s);
  CHECK(restarted.throttle().taken() == 1);
}

TEST_CASE("throttles: the limits of operators are there after a restart") {
  ThrottleFixture before({.concurrency = 9, .timeout_s = 60});
  CHECK(before.broker.admin().set_throttle("default", kTwo, before.now));
  CHECK(before.broker.admin().set_throttle("gone", kTwo, before.now));
  CHECK(before.broker.admin().remove_throttle("gone", before.now));
  Restarted restarted(before);
  restarted.limit({.concurrency = 9, .timeout_s = 60});
  CHECK(restarted.throttle().limits == kTwo);
  CHECK(restarted.after.broker.view().throttles().table().find("gone") == nullptr);
}

TEST_CASE("throttles: the tokens of a rate are there after a restart") {
  constexpr ThrottleLimits kRate{.rate_count = 2, .rate_s = 10};
  ThrottleFixture before(kRate);
  before.push_many(3);
  CHECK(before.fetch(before.client(), "a"));
  CHECK(before.fetch(before.client(), "a"));
  Restarted restarted(before);
  restarted.limit(kRate);
  CHECK_FALSE(restarted.after.fetch(restarted.after.client(), "a"));
  restarted.after.advance(5s);
  CHECK(restarted.after.fetch(restarted.after.client(), "a"));
}

TEST_CASE("throttles: a record without limits and tokens leaves nothing stored") {
  Store store;
  store.apply(ThrottleChanged{.queue = "gone", .full_at = Time{5s}});
  CHECK(store.throttles().table().next_full() == Time{5s});
  store.apply(ThrottleChanged{.queue = "gone"});
  CHECK(store.throttles().table().next_full() == kNever);
  CHECK(store.throttles().table().find("gone") == nullptr);
}

TEST_CASE("throttles: a bucket is written once a batch") {
  ThrottleFixture fixture({.rate_count = 100, .rate_s = 1});
  fixture.push_many(9);
  fixture.ledger.place(fixture.ledger.take_batch().size());
  const std::uint64_t before = fixture.ledger.records_written();
  for (int i = 0; i < 9; ++i) CHECK(fixture.fetch(fixture.client(), "a"));
  CHECK(fixture.ledger.has_batch());
  static_cast<void>(fixture.ledger.take_batch());
  // Nine reservations, and the bucket.
  CHECK(fixture.ledger.records_written() == before + 10);
}

TEST_CASE("throttles: compaction writes stored limits once more") {
  ThrottleFixture fixture(kTwo);
  CHECK(fixture.broker.admin().set_throttle("q", kTwo, fixture.now));
  const std::string first = fixture.ledger.take_batch();
  fixture.ledger.place(0);
  const std::uint64_t live = fixture.ledger.live_bytes();
  CHECK(fixture.ledger.oldest_needed() == 0);
  fixture.ledger.rewrite(first.size(), 1 << 20);
  const std::string second = fixture.ledger.take_batch();
  fixture.ledger.place(first.size());
  CHECK(fixture.ledger.oldest_needed() == first.size());
  CHECK(fixture.ledger.live_bytes() == live);
  CHECK(fixture.broker.admin().remove_throttle("q", fixture.now));
  CHECK(fixture.ledger.live_bytes() < live);
}

TEST_CASE("throttles: they are paged by name") {
  ThrottleFixture fixture(kTwo);
  CHECK(fixture.broker.admin().set_throttle("a", kTwo, fixture.now));
  CHECK(fixture.broker.admin().set_throttle("z", kTwo, fixture.now));
  std::vector<std::string> names;
  const auto visit = [&](const Throttle& throttle) { names.push_back(throttle.name); };
  fixture.broker.view().throttles().table().page("", 2, visit);
  CHECK((names == std::vector<std::string>{"a", "default"}));
  fixture.broker.view().throttles().table().page("default", 2, visit);
  CHECK(names.back() == "z");
  CHECK(fixture.broker.view().throttles().table().by_name().size() == 3);
}

}  // namespace millrace::test
