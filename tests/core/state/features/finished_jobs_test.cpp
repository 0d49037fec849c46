#include "core/state/features/finished_jobs.hpp"

#include <initializer_list>
#include <variant>

#include "core/broker_fixture.hpp"
#include "core/model/codec.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

/// The numbers of the jobs that are shown, the latest first.
std::vector<JobId> shown(const BrokerFixture& fixture) {
  const FinishedJobs& finished = fixture.broker.view().finished();
  std::vector<JobId> ids;
  finished.each_before(finished.end(), fixture.now,
                       [&](FinishedJobs::Number, const FinishedJob& job) {
                         ids.push_back(job.id);
                         return true;
                       });
  return ids;
}

TEST_CASE("finished jobs: what a worker has done is remembered with its times") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("jid=one,args", "mail");
  const Time pushed = fixture.now;
  fixture.advance(2s);
  CHECK(fixture.fetch(client, "w1", {"mail"}) == id);
  fixture.advance(3s);
  CHECK(fixture.broker.workers().ack(client, "one", fixture.now));
  const FinishedJob* job = fixture.broker.view().finished().find(id, fixture.now);
  REQUIRE(job != nullptr);
  CHECK(job->how == JobEnd::kSucceeded);
  CHECK(job->queue() == "mail");
  CHECK(job->wid() == "w1");
  CHECK(job->client == 0);
  CHECK(job->name() == "one");
  CHECK(job->reserves == 1);
  CHECK(job->created_at == pushed);
  CHECK(job->began_at == pushed + 2s);
  CHECK(job->ended_at == pushed + 5s);
}

TEST_CASE("finished jobs: how a job has ended") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const auto how = [&](JobId id) {
    return fixture.broker.view().finished().find(id, fixture.now)->how;
  };
  const JobId put = fixture.put("x");
  CHECK(fixture.reserve(client) == put);
  CHECK(fixture.broker.connections().remove(client, put, fixture.now));
  CHECK(how(put) == JobEnd::kSucceeded);
  CHECK(fixture.broker.view().finished().find(put, fixture.now)->client == client);
  const JobId deleted = fixture.put("x");
  CHECK(fixture.broker.connections().remove(client, deleted, fixture.now));
  CHECK(how(deleted) == JobEnd::kGone);
  const JobId dropped = fixture.push("retry=0");
  CHECK(fixture.fetch(client, "w") == dropped);
  CHECK(fixture.broker.workers().fail(client, "j" + std::to_string(dropped), {}, fixture.now));
  CHECK(how(dropped) == JobEnd::kFailed);
  const JobId expired = fixture.put("x", {.kind = JobKind::kWorkUnit,
                                          .queue = "default",
                                          .ttr_s = 60,
                                          .features = JobFeatures{.expires_at = fixture.now + 1s}});
  fixture.advance(2s);
  CHECK_FALSE(fixture.has(expired));
  CHECK(how(expired) == JobEnd::kExpired);
  CHECK(fixture.broker.view().finished().find(expired, fixture.now)->began_at == Time{});
}

TEST_CASE("finished jobs: the attempts before the last run are remembered, without backtraces") {
  for (const bool is_durable : {false, true}) {
    BrokerFixture fixture;
    fixture.ledger.store().finished().begin(fixture.format, {.is_durable = is_durable});
    const ClientId client = fixture.client();
    const JobId id = fixture.push("jid=one,retry=3");
    CHECK(fixture.fetch(client, "w1") == id);
    CHECK(fixture.broker.workers().fail(
        client, "one",
        {.errtype = "Timeout", .message = std::string(1000, 'm'), .backtrace = {"a.rb:1"}},
        fixture.now));
    CHECK(fixture.broker.admin().change(id, Mutation::Action::kRequeue, fixture.now));
    CHECK(fixture.fetch(client, "w1") == id);
    CHECK(fixture.broker.workers().ack(client, "one", fixture.now));
    const FinishedJob* const job = fixture.broker.view().finished().find(id, fixture.now);
    REQUIRE(job != nullptr);
    REQUIRE(job->attempts);
    REQUIRE(job->attempts->list.size() == 1);
    const Attempt& attempt = job->attempts->list[0];
    CHECK(attempt.number == 1);
    CHECK(attempt.wid == "w1");
    CHECK(attempt.errtype == "Timeout");
    CHECK(attempt.message.size() == FinishedJobs::kMessageBytesMax);
    CHECK(attempt.backtrace.empty());
  }
}

TEST_CASE("finished jobs: one that is dropped with its first failure tells of it") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("retry=0");
  CHECK(fixture.fetch(client, "w1") == id);
  CHECK(fixture.broker.workers().fail(client, "j" + std::to_string(id),
                                      {.errtype = "E", .message = "m"}, fixture.now));
  const FinishedJob* const job = fixture.broker.view().finished().find(id, fixture.now);
  REQUIRE(job != nullptr);
  REQUIRE(job->attempts);
  CHECK(job->attempts->list[0].message == "m");
}

TEST_CASE("finished jobs: one that failed for good tells its arguments, and no other one does") {
  for (const bool is_durable : {false, true}) {
    BrokerFixture fixture(Broker::Options{.finished = {.jobs_max = 2, .is_durable = is_durable}});
    const ClientId client = fixture.client();
    const auto end = [&](const std::string& body, bool is_good) {
      const JobId id = fixture.push("retry=0," + body);
      const std::string jid = "j" + std::to_string(id);
      CHECK(fixture.fetch(client, "w") == id);
      if (is_good) CHECK(fixture.broker.workers().ack(client, jid, fixture.now));
      if (!is_good) CHECK(fixture.broker.workers().fail(client, jid, {}, fixture.now));
      return fixture.broker.view().finished().find(id, fixture.now)->args;
    };
    CHECK((end("x", false) == Box<std::string>("retry=0,x")));
    CHECK_FALSE(end("y", true));
    const std::string limit(JobFinished::kArgsBytesMax - std::string("retry=0,…").size(), 'z');
    CHECK(end(limit, false)->size() == JobFinished::kArgsBytesMax - 3);
    CHECK(end(limit + "z", false)->size() == JobFinished::kArgsBytesMax);
    CHECK(end(limit + "z", false)->ends_with("…"));
    // What displaces it has none.
    CHECK_FALSE(end("y", true));
    CHECK_FALSE(end("y", true));
  }
}

TEST_CASE("finished jobs: arguments count as attempts do") {
  BrokerFixture fixture;
  FinishedJobs finished;
  finished.begin(fixture.format, {.jobs_max = 100'000, .is_durable = true});
  const std::string args(JobFinished::kArgsBytesMax, 'a');
  const std::uint64_t fit = FinishedJobs::kDetailBytesMax / (args.size() + 2);
  for (std::uint64_t number = 1; number <= fit + 1; ++number) {
    finished.apply(JobFinished{.number = number, .id = number, .args = Box(args)});
  }
  CHECK_FALSE(finished.find(1, {})->args);
  CHECK(finished.find(2, {})->args);
  std::string batch;
  finished.place(1);
  for (std::uint64_t i = 0; i <= fit; ++i) finished.rewrite_oldest(batch);
  CHECK(batch.size() == finished.live_bytes());
}

TEST_CASE("finished jobs: all attempts together are bounded, and the oldest are dropped") {
  FinishedJobs finished;
  BrokerFixture fixture;
  finished.begin(fixture.format, {.jobs_max = 100'000, .is_durable = true});
  Attempts attempts;
  for (std::uint32_t i = 1; i <= Attempts::kCountMax; ++i) {
    attempts.list.push_back({.number = i, .message = std::string(256, 'm')});
  }
  const std::size_t each = encoded_bytes(attempts);
  std::uint64_t bare_bytes = 0;
  const std::uint64_t fit = FinishedJobs::kDetailBytesMax / each;
  for (std::uint64_t number = 1; number <= fit + 5; ++number) {
    finished.apply(JobFinished{.number = number, .id = number, .attempts = Box(attempts)});
    bare_bytes += encoded_bytes(JobFinished{.number = number, .id = number});
  }
  // What the log would have if all were written anew.
  CHECK(finished.live_bytes() == bare_bytes + fit * each);
  CHECK_FALSE(finished.find(1, {})->attempts);
  CHECK_FALSE(finished.find(5, {})->attempts);
  CHECK(finished.find(6, {})->attempts);
  CHECK(finished.find(fit + 5, {})->attempts);
}

TEST_CASE("finished jobs: of many the last are remembered, the latest first") {
  BrokerFixture fixture(Broker::Options{.finished = {.jobs_max = 3}});
  const ClientId client = fixture.client();
  std::vector<JobId> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(fixture.put("x"));
    CHECK(fixture.broker.connections().remove(client, ids.back(), fixture.now));
    std::vector<JobId> expected(ids.rbegin(), ids.rend());
    expected.resize(std::min<std::size_t>(expected.size(), 3));
    CHECK(shown(fixture) == expected);
  }
  CHECK(fixture.broker.view().finished().size() == 3);
  CHECK(fixture.broker.view().finished().find(ids[1], fixture.now) == nullptr);
  CHECK(fixture.broker.view().finished().find(ids[2], fixture.now) != nullptr);
}

TEST_CASE("finished jobs: those that ended long ago are not shown") {
  BrokerFixture fixture(Broker::Options{.finished = {.age_max = 60s}});
  const ClientId client = fixture.client();
  const JobId old = fixture.push("jid=same,1");
  CHECK(fixture.broker.connections().remove(client, old, fixture.now));
  fixture.advance(61s);
  const JobId late = fixture.push("jid=same,2");
  CHECK(fixture.broker.connections().remove(client, late, fixture.now));
  CHECK(shown(fixture) == std::vector<JobId>{late});
  CHECK(fixture.broker.view().finished().find(old, fixture.now) == nullptr);
  std::vector<JobId> named;
  fixture.broker.view().finished().each_named(
      fixture.format.hash_of_name("same"), 10, fixture.now,
      [&](const FinishedJob& job) { named.push_back(job.id); });
  CHECK(named == std::vector<JobId>{late});
}

TEST_CASE("finished jobs: a position holds while further jobs end") {
  BrokerFixture fixture(Broker::Options{.finished = {.jobs_max = 4}});
  const ClientId client = fixture.client();
  const auto end_one = [&] {
    const JobId id = fixture.put("x");
    CHECK(fixture.broker.connections().remove(client, id, fixture.now));
    return id;
  };
  const JobId first = end_one();
  const JobId second = end_one();
  FinishedJobs::Number place = 0;
  const FinishedJobs& finished = fixture.broker.view().finished();
  finished.each_before(finished.end(), fixture.now,
                       [&](FinishedJobs::Number number, const FinishedJob& job) {
                         CHECK(job.id == second);
                         place = number;
                         return false;
                       });
  end_one();
  std::vector<JobId> rest;
  const auto collect = [&](FinishedJobs::Number, const FinishedJob& job) {
    rest.push_back(job.id);
    return true;
  };
  finished.each_before(place, fixture.now, collect);
  CHECK(rest == std::vector<JobId>{first});
  for (int i = 0; i < 4; ++i) end_one();
  rest.clear();
  finished.each_before(place, fixture.now, collect);
  CHECK(rest.empty());
}

TEST_CASE("finished jobs: none are remembered if none are wanted") {
  BrokerFixture fixture(Broker::Options{.finished = {.jobs_max = 0}});
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  CHECK(fixture.broker.connections().remove(client, id, fixture.now));
  CHECK(shown(fixture).empty());
  CHECK(fixture.broker.view().finished().find(id, fixture.now) == nullptr);
}

TEST_CASE("finished jobs: a name that is too long is left out") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const std::string jid(JobFinished::kNameBytesMax + 1, 'j');
  const JobId id = fixture.push("jid=" + jid);
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().ack(client, jid, fixture.now));
  const FinishedJob* job = fixture.broker.view().finished().find(id, fixture.now);
  CHECK(job->name().empty());
  CHECK(job->jid() == jid);
}

// ---- in the log ---------------------------------------------------------------------------------

constexpr FinishedJobs::Limits kDurable{.jobs_max = 4, .is_durable = true};

struct Durable : BrokerFixture {
  explicit Durable(const FinishedJobs::Limits& limits = kDurable)
      : BrokerFixture(Broker::Options{.finished = limits}) {}

  JobId done(const std::string& jid) {
    const JobId id = push("jid=" + jid);
    CHECK(fetch(worker, "w") == id);
    CHECK(broker.workers().ack(worker, jid, now));
    return id;
  }
  std::string take() {
    std::string batch = ledger.take_batch();
    ledger.place(placed);
    placed += batch.size();
    return batch;
  }
  void read(const std::string& batch) {
    REQUIRE(ledger.replay(batch, placed));
    placed += batch.size();
  }
  std::vector<JobId> named(std::string_view jid) {
    std::vector<JobId> ids;
    broker.view().finished().each_named(format.hash_of_name(jid), 10, now,
                                        [&](const FinishedJob& job) { ids.push_back(job.id); });
    return ids;
  }

  ClientId worker = client();
  Lsn placed = 8;
};

using Ids = std::vector<JobId>;

TEST_CASE("finished jobs: those in the log outlive a restart, with all that is known of them") {
  Durable before;
  const JobId id = before.done("one");
  const JobId put = before.put("x");
  before.advance(2s);
  CHECK(before.reserve(before.worker) == put);
  CHECK(before.broker.connections().remove(before.worker, put, before.now));
  Durable after;
  after.read(before.take());
  after.now = before.now;
  CHECK(shown(after) == Ids{put, id});
  CHECK(after.named("one") == Ids{id});
  for (const JobId each : {id, put}) {
    const FinishedJob* const was = before.broker.view().finished().find(each, before.now);
    const FinishedJob* const is = after.broker.view().finished().find(each, after.now);
    REQUIRE(is != nullptr);
    CHECK((record_of(1, *is) == record_of(1, *was)));
  }
  CHECK(after.ledger.latest_time() == before.now);
  // It goes on to count.
  const JobId later = after.done("later");
  CHECK(shown(after) == Ids{later, put, id});
}

TEST_CASE("finished jobs: an end is in the batch that removes the job") {
  Durable fixture;
  const JobId id = fixture.done("one");
  const std::string batch = fixture.take();
  std::string_view rest = batch;
  bool is_removed = false;
  bool is_finished = false;
  while (!rest.empty()) {
    const auto record = decode(rest);
    REQUIRE(record);
    const auto* const removed = std::get_if<JobRemoved>(&*record);
    const auto* const finished = std::get_if<JobFinished>(&*record);
    is_removed = is_removed || (removed != nullptr && removed->id == id);
    is_finished = is_finished || (finished != nullptr && finished->id == id);
  }
  CHECK(is_removed);
  CHECK(is_finished);
}

TEST_CASE("finished jobs: without the option none is in the log, and those there are ignored") {
  Durable before;
  before.done("one");
  const std::string batch = before.take();
  Durable after(FinishedJobs::Limits{});
  after.read(batch);
  CHECK(shown(after).empty());
  CHECK(after.broker.view().finished().live_bytes() == 0);
  CHECK(after.broker.view().finished().oldest_place() == std::nullopt);
  const JobId id = after.done("two");
  CHECK(shown(after) == Ids{id});
  CHECK(after.broker.view().finished().live_bytes() == 0);
}

TEST_CASE("finished jobs: a restart that keeps fewer has the last, one that keeps more has all") {
  Durable before;
  Ids ids;
  for (int i = 0; i < 4; ++i) ids.insert(ids.begin(), before.done(std::to_string(i)));
  const std::string batch = before.take();
  Durable fewer({.jobs_max = 2, .is_durable = true});
  fewer.read(batch);
  fewer.now = before.now;
  CHECK(shown(fewer) == Ids{ids[0], ids[1]});
  Durable more({.jobs_max = 1000, .is_durable = true});
  more.read(batch);
  more.now = before.now;
  CHECK(shown(more) == ids);
  ids.insert(ids.begin(), more.done("more"));
  CHECK(shown(more) == ids);
}

TEST_CASE("finished jobs: one that is displaced is not needed any more") {
  Durable fixture;
  fixture.done("one");
  const Lsn first = fixture.placed;
  fixture.take();
  for (int i = 0; i < 4; ++i) fixture.done(std::to_string(i));
  const std::uint64_t bytes = fixture.broker.view().finished().live_bytes();
  fixture.take();
  CHECK(fixture.broker.view().finished().oldest_place() > first);
  fixture.done("4");
  CHECK(fixture.broker.view().finished().live_bytes() == bytes);
}

TEST_CASE("finished jobs: compaction keeps them, and what it writes is as long as is counted") {
  Durable before;
  Ids ids;
  for (int i = 0; i < 6; ++i) ids.insert(ids.begin(), before.done(std::to_string(i)));
  ids.resize(4);
  before.take();
  before.ledger.rewrite(before.placed, SIZE_MAX);
  CHECK(before.ledger.oldest_needed() == std::nullopt);
  const std::uint64_t live = before.ledger.live_bytes();
  const std::string batch = before.take();
  CHECK(batch.size() == live);
  Durable after;
  after.read(batch);
  after.now = before.now;
  CHECK(shown(after) == ids);
}

TEST_CASE("finished jobs: while the log must not grow, those that end are not remembered") {
  Durable fixture;
  const JobId first = fixture.done("one");
  fixture.push("jid=two");
  CHECK(fixture.fetch(fixture.worker, "w"));
  fixture.broker.set_admission(Admission::kEndingsOnly);
  CHECK(fixture.broker.workers().ack(fixture.worker, "two", fixture.now));
  CHECK(shown(fixture) == Ids{first});
  fixture.broker.set_admission(Admission::kEverything);
  const JobId third = fixture.done("three");
  CHECK(shown(fixture) == Ids{third, first});
}

TEST_CASE("finished jobs: FLUSH forgets none, and notes none") {
  Durable fixture;
  const JobId id = fixture.done("one");
  fixture.push("jid=two");
  static_cast<void>(fixture.broker.admin().flush(fixture.worker, fixture.now));
  fixture.settle();
  CHECK(shown(fixture) == Ids{id});
}

// ---- records in any order -----------------------------------------------------------------------

struct Ring {
  explicit Ring(std::size_t jobs_max = 4) {
    finished.begin(format, {.jobs_max = jobs_max, .is_durable = true});
  }
  /// Job 100 + n ended at n seconds.
  void apply(std::initializer_list<FinishedJobs::Number> numbers) {
    for (const FinishedJobs::Number number : numbers) {
      const std::string name = "jid=" + std::to_string(number);
      finished.apply({.number = number,
                      .id = 100 + number,
                      .kind = JobKind::kWorkUnit,
                      .ended_at = Time{1s * number},
                      .queue = "q",
                      .name = name});
      placed += 100;
      finished.place(placed);
    }
  }
  [[nodiscard]] std::vector<FinishedJobs::Number> numbers(FinishedJobs::Number before) const {
    std::vector<FinishedJobs::Number> all;
    finished.each_before(before, Time{}, [&](FinishedJobs::Number number, const FinishedJob& job) {
      CHECK(job.id == 100 + number);
      all.push_back(number);
      return true;
    });
    return all;
  }
  [[nodiscard]] std::vector<FinishedJobs::Number> numbers() const {
    return numbers(finished.end());
  }

  PlainFormat format;
  FinishedJobs finished;
  Lsn placed = 0;
};

using Numbers = std::vector<FinishedJobs::Number>;

TEST_CASE("finished jobs: records in any order give the list in the order of their ends") {
  Ring ring;
  ring.apply({3, 1, 4, 2});
  CHECK(ring.numbers() == Numbers{4, 3, 2, 1});
  ring.apply({2, 4});
  CHECK(ring.numbers() == Numbers{4, 3, 2, 1});
  CHECK(ring.finished.size() == 4);
  ring.apply({6, 1, 2, 5});
  CHECK(ring.numbers() == Numbers{6, 5, 4, 3});
  CHECK(ring.finished.find(102, Time{}) == nullptr);
  CHECK(ring.finished.find(103, Time{}) != nullptr);
}

TEST_CASE("finished jobs: numbers that the log lacks are left out") {
  Ring ring;
  ring.apply({2, 3, 1'000'001, 1'000'004});
  CHECK(ring.numbers() == Numbers{1'000'004, 1'000'001});
  CHECK(ring.numbers(1'000'003) == Numbers{1'000'001});
  CHECK(ring.finished.size() == 2);
  CHECK(ring.finished.find(103, Time{}) == nullptr);
  ring.apply({1'000'000, 1'000'002});
  CHECK(ring.numbers() == Numbers{1'000'004, 1'000'002, 1'000'001});
  ring.apply({1'000'006});
  CHECK(ring.numbers() == Numbers{1'000'006, 1'000'004});
}

TEST_CASE("finished jobs: of those with gaps, the ones that are not too old are counted") {
  Ring ring(100);
  ring.apply({1, 2, 10, 11, 50, 90});
  const Time age = Time{24h};
  CHECK(ring.finished.shown(age) == 6);
  CHECK(ring.finished.shown(age + 2s) == 5);
  CHECK(ring.finished.shown(age + 3s) == 4);
  CHECK(ring.finished.shown(age + 11s) == 3);
  CHECK(ring.finished.shown(age + 60s) == 1);
  CHECK(ring.finished.shown(age + 91s) == 0);
}

TEST_CASE("finished jobs: a jid is found whenever its record came") {
  Ring ring;
  const auto named = [&](std::string_view jid) {
    std::size_t count = 0;
    ring.finished.each_named(ring.format.hash_of_name(jid), 10, Time{},
                             [&](const FinishedJob&) { ++count; });
    return count;
  };
  ring.apply({9, 12});
  // Names of one length have one hash.
  CHECK(named("jid=9") == 1);
  CHECK(named("jid=12") == 1);
  ring.apply({10});
  CHECK(named("jid=12") == 2);
  ring.apply({16});
  CHECK(named("jid=9") == 0);
  CHECK(named("jid=12") == 1);
}

TEST_CASE("finished jobs: what is written again comes last, and what is gone is not needed") {
  Ring ring;
  ring.apply({1, 2, 3});
  const std::uint64_t bytes = ring.finished.live_bytes();
  CHECK(ring.finished.oldest_place() == Lsn{100});
  std::string batch;
  ring.finished.rewrite_oldest(batch);
  CHECK(ring.finished.oldest_place() == Lsn{200});
  std::string_view rest = batch;
  CHECK(std::get<JobFinished>(*decode(rest)).number == 1);
  CHECK(ring.finished.live_bytes() == bytes);
  ring.apply({7});
  CHECK(ring.finished.live_bytes() == bytes / 3);
  CHECK(ring.finished.oldest_place() == Lsn{400});
}

}  // namespace
}  // namespace millrace::test
