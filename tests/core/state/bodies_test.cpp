#include "core/state/bodies.hpp"

#include <map>

#include "core/broker_fixture.hpp"
#include "core/state/batch_reader.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

/// A log in memory that counts how often it is read.
class MemoryLog final : public Journal {
 public:
  Outcome<Done> replay(const Visitor&) override { return Done{}; }
  [[nodiscard]] Epoch epoch() const override { return kOnlyEpoch; }
  Result<Span, Deposed> append(Epoch /*epoch*/, std::string batch) override {
    const Lsn begin = bytes_.size();
    bytes_ += batch;
    return Span{.begin = begin, .end = bytes_.size()};
  }
  [[nodiscard]] Lsn durable() const override { return bytes_.size(); }
  void on_durable(std::function<void()>) override {}
  Outcome<std::string> read(Lsn begin, std::size_t size) override {
    ++read_count;
    if (is_broken) return Problem{"unreadable"};
    return bytes_.substr(begin, size);
  }
  void expect(Lsn begin, std::size_t) override { ++expected[begin]; }
  [[nodiscard]] Extent extent() const override { return {}; }
  std::size_t trim(Lsn) override { return 0; }
  void sync() override {}

  std::size_t read_count = 0;
  std::map<Lsn, int> expected;
  bool is_broken = false;

 private:
  std::string bytes_ = std::string(16, 'h');
};

/// A broker with room for few bodies.
struct Small {
  explicit Small(std::size_t bytes_max = 40'000) { fixture.ledger.memory().limit(log, bytes_max); }

  JobId put(std::string_view body) {
    const JobId id = fixture.put(body);
    append();
    return id;
  }

  void append() {
    const std::string batch = fixture.ledger.take_batch();
    if (!batch.empty()) fixture.ledger.place(log.append(kOnlyEpoch, batch)->begin);
  }

  MemoryLog log;
  BrokerFixture fixture;
};

std::string body_of(int number) {
  std::string body = std::to_string(number) + ":";
  body.resize(1000, static_cast<char>('a' + number % 26));
  return body;
}

}  // namespace

TEST_CASE("bodies: beyond the limit they are in the log only, and are read back in order") {
  Small small;
  for (int i = 1; i <= 200; ++i) small.put(body_of(i));
  CHECK(small.fixture.ledger.memory().bytes() < 41'000);
  const ClientId client = small.fixture.client();
  for (int i = 1; i <= 200; ++i) {
    const JobId id = static_cast<JobId>(i);
    REQUIRE(small.fixture.reserve(client) == id);
    CHECK(small.fixture.job(id).body_view() == body_of(i));
    REQUIRE(small.fixture.broker.remove(client, id, small.fixture.now));
    small.append();
  }
  CHECK(small.log.read_count > 100);
  CHECK(small.fixture.ledger.memory().bytes() < 2000);
}

TEST_CASE("bodies: those of the next jobs are read ahead") {
  Small small(0);
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
  Small small;
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
  Small small(0);
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
  Small small(0);
  const JobId ready = small.put(body_of(1));
  small.fixture.push(body_of(2));
  small.append();
  const View& view = small.fixture.broker.view();
  CHECK(view.find(ready)->body_view() == body_of(1));
  CHECK(view.first_ready(*view.find_queue("default"))->body_view() == body_of(1));
  std::vector<std::string> paged;
  view.page_ready(*view.find_queue("default"), {}, 10,
                  [&](const Job& job) { paged.emplace_back(job.body_view()); });
  CHECK(paged == std::vector<std::string>{body_of(1), body_of(2)});
}

TEST_CASE("bodies: one that cannot be read fails only for the client that asked") {
  Small small(0);
  small.put(body_of(1));
  small.log.is_broken = true;
  const ClientId client = small.fixture.client();
  CHECK_THROWS_WITH(small.fixture.reserve(client), "unreadable");
  small.log.is_broken = false;
  CHECK(small.fixture.state(1) == JobState::kReady);
  CHECK(small.fixture.reserve(client) == 1);
}

TEST_CASE("bodies: one that cannot be read leaves the client waiting that would get it") {
  Small small(0);
  small.put(body_of(1));
  CHECK(small.fixture.broker.admin().pause("default", std::nullopt, small.fixture.now));
  const ClientId client = small.fixture.client();
  CHECK(small.fixture.wait(client));
  const std::uint32_t watchers = small.fixture.broker.view().find_queue("default")->watcher_count;
  small.log.is_broken = true;
  CHECK_THROWS_WITH((void)small.fixture.broker.admin().pause("default", 0, small.fixture.now),
                    "unreadable");
  CHECK(small.fixture.broker.view().find_queue("default")->watcher_count == watchers);
  small.log.is_broken = false;
  CHECK(small.fixture.broker.admin().forget_queue("default", small.fixture.now));
  CHECK(small.fixture.delivered(client)->job == 1);
}

TEST_CASE("bodies: one that is read again after its record moved is there") {
  Small small;
  for (int i = 1; i <= 200; ++i) small.put(body_of(i));
  for (int round = 0; round < 3; ++round) {
    for (int i = 101; i <= 200; ++i) {
      const Job* const job = small.fixture.broker.view().find(static_cast<JobId>(i));
      REQUIRE(job->body_view() == body_of(i));
    }
    small.fixture.ledger.rewrite(~Lsn{0}, ~std::size_t{0});
    small.append();
  }
}

TEST_CASE("bodies: one that is pinned outlives its job, and its place in memory") {
  Small small;
  const JobId first = small.put(std::string(10'000, 'a'));
  const JobId second = small.put(std::string(10'000, 'b'));
  Bodies& bodies = small.fixture.ledger.store().jobs().bodies();
  const auto job = [&](JobId id) { return small.fixture.broker.view().find(id); };
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
  Small small(20'000);
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
    REQUIRE(small.fixture.broker.remove(client, *id, small.fixture.now));
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
