#include "core/state/bodies.hpp"

#include "core/spilling_broker.hpp"
#include "core/state/batch_reader.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

std::string body_of(int number) {
  std::string body = std::to_string(number) + ":";
  body.resize(1000, static_cast<char>('a' + number % 26));
  return body;
}

/// Jobs around one with a long body, all of one batch. An older job is written again in it.
struct Around {
  Around(std::size_t bytes_before, bool is_in_place) {
    const JobId old = small.put("old");
    ids = {old, small.fixture.put(std::string(bytes_before, 'b'))};
    NewJob job{.queue = "default", .ttr_s = 60, .long_body = is_in_place ? &body : nullptr};
    ids.push_back(small.fixture.put(body.view(), std::move(job)));
    small.fixture.ledger.rewrite(MemoryLog::kBegin + 1, 1);
    ids.push_back(small.fixture.put("after"));
    bytes = small.fixture.ledger.batch_bytes();
    small.append();
    ids.push_back(small.put("later"));
  }

  /// As they are read back from the log.
  std::vector<std::string> bodies() {
    std::vector<std::string> all;
    for (const JobId id : ids) {
      all.emplace_back(small.fixture.ledger.store().jobs().find_with_body(id)->body_view());
    }
    return all;
  }

  LongBody body{std::string(200'000, 'x')};
  SpillingBroker small{0};
  std::vector<JobId> ids;
  std::size_t bytes = 0;
};

}  // namespace

TEST_CASE("bodies: a record around a body in place is as any other, and so are those beside it") {
  for (const std::size_t bytes_before :
       {std::size_t{0}, std::size_t{5000}, LongBody::kFrontBytes}) {
    Around in_place(bytes_before, true);
    Around copied(bytes_before, false);
    CHECK(in_place.small.batches == copied.small.batches);
    CHECK(in_place.bytes == copied.bytes);
    CHECK(in_place.small.fixture.ledger.bytes_written() ==
          copied.small.fixture.ledger.bytes_written());
    CHECK(in_place.bodies() == copied.bodies());
    CHECK(in_place.bodies()[2] == std::string(200'000, 'x'));
    CHECK(in_place.small.log.read_count >= 5);
    CHECK(in_place.small.tell_replayed() == copied.small.tell_replayed());
  }
}

TEST_CASE("bodies: beyond the limit they are in the log only, and are read back in order") {
  SpillingBroker small;
  for (int i = 1; i <= 200; ++i) small.put(body_of(i));
  CHECK(small.fixture.ledger.memory().bytes() < 41'000);
  const ClientId client = small.fixture.client();
  for (int i = 1; i <= 200; ++i) {
    const JobId id = static_cast<JobId>(i);
    REQUIRE(small.fixture.reserve(client) == id);
    CHECK(small.fixture.job(id).body_view() == body_of(i));
    REQUIRE(small.fixture.broker.connections().remove(client, id, small.fixture.now));
    small.append();
  }
  CHECK(small.log.read_count > 100);
  CHECK(small.fixture.ledger.memory().bytes() < 2000);
}

TEST_CASE("bodies: those of the next jobs are read ahead") {
  SpillingBroker small(0);
  for (int i = 1; i <= 40; ++i) small.put(body_of(i));
  CHECK(small.log.expected.empty());
  const ClientId client = small.fixture.client();
  REQUIRE(small.fixture.reserve(client));
  CHECK(small.log.expected.size() == 39);
}

TEST_CASE("bodies: a replay brings no more of them into memory than may stay") {
  constexpr std::size_t kLong = 15'000;
  BrokerFixture writer;
  for (int i = 0; i < 6; ++i) writer.put(std::string(kLong, static_cast<char>('a' + i)));
  const std::string batch = writer.ledger.take_batch();
  SpillingBroker small;
  const Lsn begin = small.log.append(kOnlyEpoch, batch)->begin;
  BatchReader reader(batch);
  auto records = reader.next();
  REQUIRE(records);
  small.fixture.ledger.replay(std::move(*records));
  REQUIRE(reader.is_done());
  CHECK(small.fixture.ledger.memory().bytes() < 40'000);
  small.fixture.ledger.place(begin);
  const ClientId client = small.fixture.client();
  for (int i = 0; i < 6; ++i) {
    const JobId id = small.fixture.reserve(client).value();
    CHECK(small.fixture.job(id).body_view() == std::string(kLong, static_cast<char>('a' + i)));
  }
  CHECK(small.log.read_count >= 4);
}

TEST_CASE("bodies: a record that moves in the log takes its body along") {
  SpillingBroker small(0);
  for (int i = 1; i <= 20; ++i) small.put(body_of(i));
  for (int round = 0; round < 3; ++round) {
    small.fixture.ledger.rewrite(UINT64_MAX, SIZE_MAX);
    small.append();
  }
  const ClientId client = small.fixture.client();
  for (int i = 1; i <= 20; ++i) {
    REQUIRE(small.fixture.reserve(client) == static_cast<JobId>(i));
    CHECK(small.fixture.job(static_cast<JobId>(i)).body_view() == body_of(i));
  }
}

TEST_CASE("bodies: what is read of a spilled job is there, however it is asked for") {
  SpillingBroker small(0);
  const JobId ready = small.put(body_of(1));
  small.fixture.push(body_of(2));
  small.append();
  const View& view = small.fixture.broker.view();
  CHECK(view.jobs().find(ready)->body_view() == body_of(1));
  CHECK(view.jobs().first_ready(*view.queues().find("default"))->body_view() == body_of(1));
  std::vector<std::string> paged;
  view.jobs().page_ready(*view.queues().find("default"), {}, 10,
                         [&](const Job& job) { paged.emplace_back(job.body_view()); });
  CHECK(paged == std::vector<std::string>{body_of(1), body_of(2)});
}

TEST_CASE("bodies: one that cannot be read is missing, and is told of once") {
  SpillingBroker small(0);
  const JobId id = small.put(body_of(1));
  small.log.is_broken = true;
  const Job* const job = small.fixture.broker.view().jobs().find(id);
  CHECK_FALSE(job->has_body());
  CHECK(job->body_view().empty());
  Bodies& bodies = small.fixture.ledger.store().jobs().bodies();
  CHECK(bodies.take_missing().size() == 1);
  CHECK_FALSE(small.fixture.broker.view().jobs().find(id)->has_body());
  CHECK_FALSE(bodies.has_missing());
  small.log.is_broken = false;
  CHECK(small.fixture.ledger.store().jobs().reload_body(*job));
  CHECK(job->body_view() == body_of(1));
}

TEST_CASE("bodies: one that is read again after its record moved is there") {
  SpillingBroker small;
  for (int i = 1; i <= 200; ++i) small.put(body_of(i));
  for (int round = 0; round < 3; ++round) {
    for (int i = 101; i <= 200; ++i) {
      const Job* const job = small.fixture.broker.view().jobs().find(static_cast<JobId>(i));
      REQUIRE(job->body_view() == body_of(i));
    }
    small.fixture.ledger.rewrite(~Lsn{0}, ~std::size_t{0});
    small.append();
  }
}

TEST_CASE("bodies: one that is pinned outlives its job, and its place in memory") {
  SpillingBroker small;
  const JobId first = small.put(std::string(10'000, 'a'));
  const JobId second = small.put(std::string(10'000, 'b'));
  Bodies& bodies = small.fixture.ledger.store().jobs().bodies();
  const auto job = [&](JobId id) { return small.fixture.broker.view().jobs().find(id); };
  const auto pin = bodies.pin(*job(first));
  CHECK(bodies.pin(*job(first)) == pin);
  const auto other = bodies.pin(*job(second));
  CHECK(other != pin);
  bodies.spill(*job(second));
  CHECK(other->view() == std::string(10'000, 'b'));
  CHECK(job(second)->body_view() == other->view());
  CHECK(job(second)->body_view().data() != other->view().data());
  small.fixture.ledger.commit(JobRemoved{.id = first});
  CHECK(job(first) == nullptr);
  CHECK(pin->view() == std::string(10'000, 'a'));
}

TEST_CASE("bodies: jobs are refused when they alone reach the limit") {
  SpillingBroker small(20'000);
  int taken = 0;
  while (!small.fixture.ledger.memory().is_full(small.fixture.broker.admission()))
    small.put(std::to_string(++taken));
  CHECK(taken > 50);
  small.fixture.broker.set_admission(Admission::kNoJobs);
  CHECK_FALSE(small.fixture.broker.put({.queue = "default", .body = "x"}, small.fixture.now));
  const ClientId client = small.fixture.client();
  int ended = 0;
  while (small.fixture.ledger.memory().is_full(small.fixture.broker.admission())) {
    const auto id = small.fixture.reserve(client);
    REQUIRE(small.fixture.broker.connections().remove(client, *id, small.fixture.now));
    ++ended;
  }
  CHECK(ended > 1);
  CHECK(ended < taken / 4);
}

TEST_CASE("bodies: without a journal they count in full") {
  BrokerFixture fixture;
  fixture.ledger.memory().limit(100'000);
  int taken = 0;
  while (!fixture.ledger.memory().is_full(fixture.broker.admission()))
    fixture.put(body_of(++taken));
  CHECK(taken > 50);
  CHECK(taken < 100);
}

}  // namespace millrace::test
