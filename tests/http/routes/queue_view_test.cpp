#include "http/routes/queue_view.hpp"

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("queues: scheduled and retrying jobs are counted apart, wherever they go") {
  WebFixture web;
  const JobId later = web.push("A", "failing", R"(,"at":"2099-01-01T00:00:00Z")");
  const JobId failed = web.fail("B", "x");
  const auto counts = [&] {
    const Json queue = web.read("/api/v1/queues/failing");
    return std::pair(queue["scheduled"].get<int>(), queue["retrying"].get<int>());
  };
  CHECK(counts() == std::pair(1, 1));
  web.post("/api/v1/jobs/" + std::to_string(failed) + "/retry");
  CHECK(counts() == std::pair(1, 0));
  web.post("/api/v1/jobs/" + std::to_string(later) + "/kill");
  CHECK(counts() == std::pair(0, 0));
}

}  // namespace millrace::http
