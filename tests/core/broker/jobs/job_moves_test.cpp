#include "core/broker/jobs/job_moves.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("release: a put job regains its old place, a pushed one moves to the end") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId put = fixture.put("put");
  const JobId pushed = fixture.push("pushed");
  const JobId last = fixture.push("last");
  CHECK(fixture.reserve(client) == put);
  CHECK(fixture.reserve(client) == pushed);
  CHECK(fixture.broker.connections().release(client, pushed, 0, 0, fixture.now));
  CHECK(fixture.broker.connections().release(client, put, 0, 0, fixture.now));
  CHECK(fixture.reserve(client) == put);
  CHECK(fixture.reserve(client) == last);
  CHECK(fixture.reserve(client) == pushed);
}

TEST_CASE("keep: a queue that was pushed to stays when it is empty") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x", "mail");
  CHECK(fixture.broker.connections().remove(client, id, fixture.now));
  CHECK(fixture.broker.view().queues().find("mail") != nullptr);
}

TEST_CASE("bury: jobs that die at the same moment keep their order") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId first = fixture.put("a");
  const JobId second = fixture.put("b");
  CHECK(fixture.reserve(client) == first);
  CHECK(fixture.reserve(client) == second);
  CHECK(fixture.broker.connections().bury(client, second, 0, fixture.now));
  CHECK(fixture.broker.connections().bury(client, first, 0, fixture.now));
  CHECK(fixture.job(second).when < fixture.job(first).when);
}

}  // namespace millrace::test
