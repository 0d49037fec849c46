#include "core/broker/features/finished_jobs.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

/// The numbers of the jobs that are shown, the latest first.
std::vector<JobId> shown(const BrokerFixture& fixture) {
  const FinishedJobs& finished = fixture.broker.finished();
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
  const FinishedJob* job = fixture.broker.finished().find(id, fixture.now);
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
  const auto how = [&](JobId id) { return fixture.broker.finished().find(id, fixture.now)->how; };
  const JobId put = fixture.put("x");
  CHECK(fixture.reserve(client) == put);
  CHECK(fixture.broker.remove(client, put, fixture.now));
  CHECK(how(put) == JobEnd::kSucceeded);
  CHECK(fixture.broker.finished().find(put, fixture.now)->client == client);
  const JobId deleted = fixture.put("x");
  CHECK(fixture.broker.remove(client, deleted, fixture.now));
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
  CHECK(fixture.broker.finished().find(expired, fixture.now)->began_at == Time{});
}

TEST_CASE("finished jobs: of many the last are remembered, the latest first") {
  BrokerFixture fixture(Broker::Options{.finished = {.jobs_max = 3}});
  const ClientId client = fixture.client();
  std::vector<JobId> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(fixture.put("x"));
    CHECK(fixture.broker.remove(client, ids.back(), fixture.now));
    std::vector<JobId> expected(ids.rbegin(), ids.rend());
    expected.resize(std::min<std::size_t>(expected.size(), 3));
    CHECK(shown(fixture) == expected);
  }
  CHECK(fixture.broker.finished().size() == 3);
  CHECK(fixture.broker.finished().find(ids[1], fixture.now) == nullptr);
  CHECK(fixture.broker.finished().find(ids[2], fixture.now) != nullptr);
}

TEST_CASE("finished jobs: those that ended long ago are not shown") {
  BrokerFixture fixture(Broker::Options{.finished = {.age_max = 60s}});
  const ClientId client = fixture.client();
  const JobId old = fixture.push("jid=same,1");
  CHECK(fixture.broker.remove(client, old, fixture.now));
  fixture.advance(61s);
  const JobId late = fixture.push("jid=same,2");
  CHECK(fixture.broker.remove(client, late, fixture.now));
  CHECK(shown(fixture) == std::vector<JobId>{late});
  CHECK(fixture.broker.finished().find(old, fixture.now) == nullptr);
  std::vector<JobId> named;
  fixture.broker.finished().each_named(fixture.format.hash_of_name("same"), 10, fixture.now,
                                       [&](const FinishedJob& job) { named.push_back(job.id); });
  CHECK(named == std::vector<JobId>{late});
}

TEST_CASE("finished jobs: a position holds while further jobs end") {
  BrokerFixture fixture(Broker::Options{.finished = {.jobs_max = 4}});
  const ClientId client = fixture.client();
  const auto end_one = [&] {
    const JobId id = fixture.put("x");
    CHECK(fixture.broker.remove(client, id, fixture.now));
    return id;
  };
  const JobId first = end_one();
  const JobId second = end_one();
  FinishedJobs::Number place = 0;
  const FinishedJobs& finished = fixture.broker.finished();
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
  CHECK(fixture.broker.remove(client, id, fixture.now));
  CHECK(shown(fixture).empty());
  CHECK(fixture.broker.finished().find(id, fixture.now) == nullptr);
}

TEST_CASE("finished jobs: a name that is too long is left out") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const std::string jid(FinishedJobs::kNameBytesMax + 1, 'j');
  const JobId id = fixture.push("jid=" + jid);
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().ack(client, jid, fixture.now));
  const FinishedJob* job = fixture.broker.finished().find(id, fixture.now);
  CHECK(job->name().empty());
  CHECK(job->jid() == jid);
}

}  // namespace
}  // namespace millrace::test
