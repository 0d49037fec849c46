#include "core/broker/tasks/pause_queues_task.hpp"

#include <string>
#include <vector>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("pause queues: those that exist are counted, and unknown names are passed over") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.push("x", "mail");
  CHECK(fixture.broker.admin().pause_queues(client, {"none", "mail"}, 60, fixture.now) == 1);
  CHECK(fixture.broker.view().queues().find("mail")->is_paused(fixture.now));
  CHECK(fixture.broker.view().queues().find("none") == nullptr);
}

TEST_CASE("pause queues: more than a slice continues in ticks, and its end is delivered") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kSliceJobs + 1; ++i) {
    names.push_back("q" + std::to_string(i));
    fixture.push("x", names.back());
  }
  CHECK_FALSE(
      fixture.broker.admin().pause_queues(client, names, std::nullopt, fixture.now).has_value());
  CHECK_FALSE(fixture.broker.view().queues().find(names.back())->is_paused(fixture.now));
  fixture.settle();
  CHECK(fixture.delivered(client)->count == kSliceJobs + 1);
  CHECK(fixture.broker.view().queues().find(names.back())->is_paused(fixture.now));
}

}  // namespace millrace::test
