#include "http/routes/queue_view.hpp"

#include "http/asking.hpp"
#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

bool is_labelled(const std::string& text, const std::string& queue) {
  return text.find("millrace_jobs{queue=\"" + queue + "\",state=\"ready\"}") != std::string::npos;
}

}  // namespace

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

TEST_CASE("queues: workers that are too busy for a queue are its workers all the same") {
  WebFixture web;
  web.push("A", "high");
  web.push("B", "low");
  const ClientId busy = web.worker("w1");
  const ReserveRequest request{.choice = ReserveRequest::Choice::kFirstListed,
                               .queues = {"high", "low"},
                               .wid = "w1",
                               .wait_until = web.now};
  CHECK(web.broker.reserve(busy, request, web.now));
  web.now += 59s;
  const Json queue = web.read("/api/v1/queues/low");
  CHECK(queue["takers"] == 0);
  CHECK(queue["is_served"] == true);
  REQUIRE(queue["workers"].size() == 1);
  CHECK(queue["workers"][0]["wid"] == "w1");
  web.now += 1s;
  CHECK(web.read("/api/v1/queues/low")["is_served"] == false);
  CHECK(web.read("/api/v1/queues/low")["workers"] == Json::array());
}

TEST_CASE("queues: one that a worker has asked for within a minute is not abandoned") {
  WebFixture web;
  web.push("A", "low");
  web.now += 2min;
  CHECK(web.read("/api/v1/overview")["attention"][0]["kind"] == "abandoned");
  web.push("B", "high");
  const ClientId busy = web.worker("w1");
  const ReserveRequest request{.choice = ReserveRequest::Choice::kFirstListed,
                               .queues = {"high", "low"},
                               .wid = "w1",
                               .wait_until = web.now};
  CHECK(web.broker.reserve(busy, request, web.now));
  CHECK(web.read("/api/v1/overview")["attention"] == Json::array());
}

TEST_CASE("queues: a hundred of the workers are named") {
  WebFixture web;
  web.push("A", "q");
  for (std::size_t i = 0; i <= kServersShownMax; ++i) {
    const std::string wid = "w" + std::to_string(1000 + i);
    const ReserveRequest request{.choice = ReserveRequest::Choice::kFirstListed,
                                 .queues = {"q"},
                                 .wid = wid,
                                 .wait_until = web.now};
    static_cast<void>(web.broker.reserve(web.worker(wid), request, web.now));
  }
  const Json workers = web.read("/api/v1/queues/q")["workers"];
  CHECK(workers.size() == kServersShownMax);
  CHECK(workers[0]["wid"] == "w1000");
}

TEST_CASE("metrics: queues that hold most jobs, or had most to do lately, have labels") {
  WebFixture web;
  fill_queues(web, 1200);
  web.put("x", "full");
  web.put("x", "full");
  web.now += 1min;
  for (int i = 0; i < 3; ++i) {
    const JobId id = web.push("Mail", "quick");
    CHECK(web.post(concat("/api/v1/jobs/", id, "/delete")).status == 200);
  }
  const std::string text = web.get("/metrics").body;
  CHECK(is_labelled(text, "full"));
  CHECK(is_labelled(text, "quick"));
  CHECK(is_labelled(text, "q998"));
  CHECK_FALSE(is_labelled(text, "q999"));
}

}  // namespace millrace::http
