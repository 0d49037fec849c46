#include "core/state/queues.hpp"

#include <set>
#include <string>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("queue: it is listed while it is kept or has a ready job") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const auto listed = [&] {
    std::set<std::string> names;
    const Queues& queues = fixture.broker.view().queues();
    for (const QueueId id : queues.listed()) names.insert(queues.at(id).name);
    return names;
  };
  CHECK(fixture.broker.connections().watch(client, "watched"));
  CHECK(listed().empty());
  fixture.put("a", {.queue = "put", .ttr_s = 60});
  const JobId pushed = fixture.push("b", "pushed");
  const JobId other = fixture.put("c", {.queue = "watched", .ttr_s = 60});
  CHECK(listed() == std::set<std::string>{"put", "pushed", "watched"});
  CHECK(fixture.broker.connections().remove(client, pushed, fixture.now));
  CHECK(fixture.reserve(client) == other);
  CHECK(listed() == std::set<std::string>{"put", "pushed"});
  CHECK(fixture.broker.admin().remove_queues(client, {"put", "pushed"}, fixture.now));
  CHECK(listed().empty());
}

TEST_CASE("queue: pages are in the order of creation, up to an end") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  for (const char* name : {"a", "b", "c"}) CHECK(fixture.broker.connections().watch(client, name));
  const Queues& queues = fixture.broker.view().queues();
  const std::uint64_t end = queues.next_creation();
  CHECK(fixture.broker.connections().watch(client, "late"));
  std::string names;
  const auto add = [&](const Queue& queue) { names += queue.name + ' '; };
  const std::uint64_t next = queues.page(0, end, 2, add);
  CHECK(names == "default a ");
  CHECK(next < end);
  CHECK(queues.page(next, end, 2, add) == end);
  CHECK(names == "default a b c ");
}

}  // namespace millrace::test
