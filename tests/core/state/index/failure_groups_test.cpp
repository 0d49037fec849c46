#include "core/state/index/failure_groups.hpp"

#include <string>
#include <vector>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace {
namespace {

using test::BrokerFixture;

/// The sizes of the groups, the largest first.
std::vector<std::size_t> sizes(const BrokerFixture& fixture) {
  std::vector<std::size_t> all;
  for (const auto& place : fixture.broker.view().orders().failures().by_size()) {
    CHECK(fixture.broker.view().orders().failures().find(place.group)->size == place.size);
    all.push_back(place.size);
  }
  return all;
}

void fail(BrokerFixture& fixture, ClientId client, JobId id, const std::string& errtype) {
  CHECK(fixture.fetch(client, "w") == id);
  const std::string jid = fixture.job(id).reservation()->jid;
  CHECK(fixture.broker.workers().fail(client, jid, {errtype, "m", {}}, fixture.now));
}

void retry(BrokerFixture& fixture, JobId id) {
  CHECK(fixture.broker.admin().change(id, Mutation::Action::kRequeue, fixture.now));
}

}  // namespace

TEST_CASE("failure groups: a job that fails in another way is in that group only") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId first = fixture.push("retry=9");
  fail(fixture, client, first, "E");
  const JobId second = fixture.push("retry=9");
  fail(fixture, client, second, "E");
  CHECK(sizes(fixture) == std::vector<std::size_t>{2});
  retry(fixture, second);
  CHECK(sizes(fixture) == std::vector<std::size_t>{2});
  fail(fixture, client, second, "Other");
  CHECK(sizes(fixture) == std::vector<std::size_t>{1, 1});
  retry(fixture, first);
  fail(fixture, client, first, "Other");
  CHECK(sizes(fixture) == std::vector<std::size_t>{2});
}

TEST_CASE("failure groups: the sample is the newest of the dead, else of what is retried") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId dead = fixture.push("retry=9");
  fail(fixture, client, dead, "E");
  CHECK(fixture.broker.admin().change(dead, Mutation::Action::kKill, fixture.now));
  const JobId retrying = fixture.push("retry=9");
  fail(fixture, client, retrying, "E");
  const FailureGroups& failures = fixture.broker.view().orders().failures();
  const std::uint64_t group = failures.by_size().begin()->group;
  CHECK(failures.find(group)->sample() == dead);
  CHECK(fixture.broker.admin().change(dead, Mutation::Action::kDiscard, fixture.now));
  CHECK(failures.find(group)->sample() == retrying);
}

TEST_CASE("failure groups: a record without the failure takes the job out of its group") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("retry=9");
  fail(fixture, client, id, "E");
  JobFields fields = fixture.job(id).fields();
  fields.edit_history().failure.reset();
  fixture.ledger.commit(JobChanged{.id = id, .fields = std::move(fields)});
  CHECK(sizes(fixture).empty());
  CHECK(fixture.broker.view().orders().failures().find(1) == nullptr);
}

}  // namespace millrace
