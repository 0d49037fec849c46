#include "core/broker/jobs/reservations.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

namespace {

/// Remembers the runs as text.
struct Runs final : RunWatch {
  std::string told;
  void on_run_ended(const Job& job, const Queue& queue, Duration took) override {
    told += std::to_string(job.id) + " " + queue.name + " " + std::to_string(took / 1ms) + "\n";
  }
};

}  // namespace

TEST_CASE(
    "reserve: who watches is told of each run that ends, well or badly, and how long it took") {
  BrokerFixture fixture;
  Runs runs;
  fixture.broker.watch_runs(&runs);
  const ClientId client = fixture.client();
  fixture.put("a");
  fixture.push("retry=3", "mail");
  REQUIRE(fixture.reserve(client) == 1);
  REQUIRE(fixture.fetch(client, "w", {"mail"}) == 2);
  fixture.now += 30ms;
  CHECK(fixture.broker.connections().remove(client, 1, fixture.now));
  fixture.now += 5ms;
  CHECK(fixture.broker.workers().fail(client, "j2", {}, fixture.now));
  CHECK(runs.told == "1 default 30\n2 mail 35\n");
}

TEST_CASE("reserve: a job that is given back has not run, and nobody is told after the watch") {
  BrokerFixture fixture;
  Runs runs;
  fixture.broker.watch_runs(&runs);
  const ClientId client = fixture.client();
  fixture.put("a");
  REQUIRE(fixture.reserve(client) == 1);
  CHECK(fixture.broker.connections().release(client, 1, 0, 0, fixture.now));
  REQUIRE(fixture.reserve(client) == 1);
  fixture.broker.watch_runs(nullptr);
  CHECK(fixture.broker.connections().remove(client, 1, fixture.now));
  CHECK(runs.told.empty());
}

TEST_CASE("reserve: smaller pri first, then smaller id") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId late = fixture.put("late", {.queue = "default", .pri = 9});
  const JobId first = fixture.put("first", {.queue = "default", .pri = 1});
  const JobId second = fixture.put("second", {.queue = "default", .pri = 1});
  CHECK(fixture.reserve(client) == first);
  CHECK(fixture.reserve(client) == second);
  CHECK(fixture.reserve(client) == late);
  CHECK(fixture.reserve(client) == std::nullopt);
}

TEST_CASE("reserve: the smallest over all watched queues") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.connections().watch(client, "other"));
  fixture.put("a", {.queue = "default", .pri = 5});
  const JobId urgent = fixture.put("b", {.queue = "other", .pri = 4});
  CHECK(fixture.reserve(client) == urgent);
}

TEST_CASE("fetch: the first queue of the list that has a job") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.push("low", "low");
  const JobId high = fixture.push("high", "high");
  CHECK(fixture.fetch(client, "w", {"none", "high", "low"}) == high);
}

TEST_CASE("fetch: a list that is asked for again finds queues that came and went meanwhile") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  KnownQueues known;
  const auto fetch = [&]() -> std::optional<JobId> {
    const ReserveRequest request{.choice = ReserveRequest::Choice::kFirstListed,
                                 .queues = {"a", "b"},
                                 .known = &known,
                                 .wid = "w",
                                 .wait_until = fixture.now};
    const auto delivery = fixture.broker.reserve(client, request, fixture.now);
    if (delivery->kind != Delivery::Kind::kJob) return std::nullopt;
    return delivery->job->id;
  };
  CHECK_FALSE(fetch());
  const JobId second = fixture.put("b", {.queue = "b", .ttr_s = 60});
  CHECK(fetch() == second);
  CHECK(fixture.broker.workers().ack(client, "j" + std::to_string(second), fixture.now));
  CHECK(fixture.broker.view().queues().find("b") == nullptr);
  CHECK_FALSE(fetch());
  // Another queue has the number that the one that went had.
  fixture.put("c", {.queue = "c", .ttr_s = 60});
  CHECK_FALSE(fetch());
  const JobId first = fixture.push("a", "a");
  CHECK(fetch() == first);
}

TEST_CASE("steps: a reserve counts the queues that it looks at") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  for (int i = 1; i < 100; ++i)
    CHECK(fixture.broker.connections().watch(client, "t" + std::to_string(i)));
  const std::uint64_t before = fixture.broker.step_count();
  CHECK_FALSE(fixture.reserve(client));
  CHECK(fixture.broker.step_count() == before + 100);
}

}  // namespace millrace::test
