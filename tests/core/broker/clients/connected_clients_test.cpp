#include "core/broker/clients/connected_clients.hpp"

#include <string>
#include <vector>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("use: a queue is removed when nothing needs it") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.connections().use(client, "t"));
  const JobId id = fixture.put("x", {.queue = "t"});
  CHECK(fixture.broker.connections().use(client, "default"));
  CHECK(fixture.broker.view().queues().find("t") != nullptr);
  CHECK(fixture.broker.connections().remove(client, id, fixture.now));
  CHECK(fixture.broker.view().queues().find("t") == nullptr);
}

TEST_CASE("ignore: the last watched queue stays") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK_FALSE(fixture.broker.connections().ignore(client, "default"));
  CHECK(fixture.broker.connections().watch(client, "t").value() == 2);
  CHECK(fixture.broker.connections().ignore(client, "default").value() == 1);
  CHECK(fixture.broker.connections().ignore(client, "unknown").value() == 1);
}

TEST_CASE("watch: who has never asked for a job takes none") {
  BrokerFixture fixture;
  const auto takers = [&](const char* queue) {
    const Queue* found = fixture.broker.view().queues().find(queue);
    return found == nullptr ? 0 : found->taker_count;
  };
  const ClientId client = fixture.client();
  CHECK(fixture.broker.connections().watch(client, "t").value() == 2);
  CHECK(takers("default") == 0);
  CHECK(fixture.broker.reserve(client, {.wait_until = fixture.now}, fixture.now));
  CHECK(takers("default") == 1);
  CHECK(takers("t") == 1);
  CHECK(fixture.broker.connections().watch(client, "more").value() == 3);
  CHECK(takers("more") == 1);
  // It counts once, whether it waits or not.
  CHECK_FALSE(fixture.broker.reserve(client, {}, fixture.now));
  CHECK(takers("t") == 1);
  fixture.broker.stop_waiting(client);
  CHECK(fixture.broker.connections().ignore(client, "default").value() == 2);
  CHECK(takers("default") == 0);
  fixture.broker.disconnect(client, fixture.now);
  CHECK(fixture.broker.view().queues().find("t") == nullptr);
}

TEST_CASE("fetch: a client takes jobs of the queues that it lists, as long as it waits") {
  BrokerFixture fixture;
  CHECK(fixture.broker.connections().use(fixture.client(), "t"));
  const ClientId client = fixture.client();
  const ReserveRequest request{.choice = ReserveRequest::Choice::kFirstListed,
                               .queues = {"u", "t", "u"}};
  CHECK_FALSE(fixture.broker.reserve(client, request, fixture.now));
  CHECK(fixture.broker.view().queues().find("t")->taker_count == 1);
  CHECK(fixture.broker.view().queues().find("u")->taker_count == 1);
  fixture.broker.stop_waiting(client);
  CHECK(fixture.broker.view().queues().find("t")->taker_count == 0);
}

TEST_CASE("watch: as many queues as the limit says, and one more is refused") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  for (std::size_t i = 1; i < kWatchedQueuesMax; ++i) {
    REQUIRE(fixture.broker.connections().watch(client, "t" + std::to_string(i)).value() == i + 1);
  }
  CHECK(fixture.broker.connections().watch(client, "more").error() == Refusal::kTooMany);
  CHECK(fixture.broker.view().queues().find("more") == nullptr);
  CHECK(fixture.broker.connections().watch(client, "t1").value() == kWatchedQueuesMax);
  CHECK(fixture.broker.connections().ignore(client, "t1").value() == kWatchedQueuesMax - 1);
  CHECK(fixture.broker.connections().watch(client, "more").value() == kWatchedQueuesMax);
}

TEST_CASE("use: a name at the limit is taken, one byte more is refused") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.connections().use(client, std::string(kQueueNameBytesMax, 'q')));
  CHECK_FALSE(fixture.broker.connections().use(client, std::string(kQueueNameBytesMax + 1, 'q')));
  CHECK_FALSE(fixture.broker.put({.queue = std::string(kQueueNameBytesMax + 1, 'q')}, fixture.now));
}

TEST_CASE("take woken: a session is listed once, and only while it is connected") {
  BrokerFixture fixture;
  const ClientId stays = fixture.client();
  const ClientId leaves = fixture.client();
  CHECK(fixture.wait(stays, 1s));
  CHECK(fixture.wait(leaves, 1s));
  fixture.advance(1s);
  CHECK(fixture.wait(stays, 1s));
  fixture.advance(1s);
  fixture.leave(leaves);
  CHECK(fixture.broker.take_woken() == std::vector<Session*>{&fixture.sessions.front()});
  CHECK(fixture.broker.take_woken().empty());
}

TEST_CASE("use: the same queue once more keeps it") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.broker.connections().use(client, "t"));
  CHECK(fixture.broker.connections().use(client, "t"));
  CHECK(fixture.broker.view().queues().find("t")->user_count == 1);
}

}  // namespace millrace::test
