#include "http/routes/features/throttle_view.hpp"

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

/// What the pages of the queue `mail` say is holding it up.
Json throttled(WebFixture& web) {
  const Json queue = web.read("/api/v1/queues/mail");
  CHECK(web.read("/api/v1/queues?match=mail")["queues"][0]["throttled"] == queue["throttled"]);
  return queue["throttled"];
}

void limit(WebFixture& web, const ThrottleLimits& limits) {
  web.broker.admin().set_throttle_rules({}, web.now);
  REQUIRE(web.broker.admin().set_throttle("mail", limits, web.now));
}

}  // namespace

TEST_CASE("throttled: a queue without limits, or with room, is not") {
  WebFixture web;
  web.push("Mail", "mail");
  CHECK(throttled(web) == nullptr);
  CHECK(web.read("/api/v1/queues/mail")["throttle"] == nullptr);
  limit(web, {.concurrency = 1, .timeout_s = 60});
  CHECK(throttled(web) == nullptr);
  CHECK(web.read("/api/v1/queues/mail")["throttle"]["free"] == 1);
}

TEST_CASE("throttled: a queue says how many jobs run, even if these are too many") {
  WebFixture web;
  limit(web, {.concurrency = 2, .timeout_s = 60});
  web.push("Mail", "mail");
  web.push("Mail", "mail");
  web.fetch("mail");
  web.fetch("mail");
  CHECK(throttled(web) == "2 of 2");
  limit(web, {.concurrency = 1, .timeout_s = 60});
  CHECK(throttled(web) == "2 of 1");
}

TEST_CASE("throttled: a queue whose rate is used up says the rate") {
  WebFixture web;
  limit(web, {.rate_count = 1, .rate_s = 60});
  web.push("Mail", "mail");
  web.fetch("mail");
  CHECK(throttled(web) == "1 per 60 s");
  web.now += 60s;
  CHECK(throttled(web) == nullptr);
}

TEST_CASE("throttled: a queue says that each worker that waits has all it may have") {
  WebFixture web;
  limit(web, {.worker = 1, .timeout_s = 60});
  web.push("Mail", "mail");
  web.push("Mail", "mail");
  web.fetch("mail");
  CHECK(throttled(web) == nullptr);
  SilentSession session;
  const ClientId client = web.broker.connect(session);
  CHECK(web.broker.workers().add(client, {.wid = "w1", .hostname = "box", .pid = 9, .labels = {}},
                                 web.now));
  CHECK_FALSE(web.broker.reserve(client,
                                 {.choice = ReserveRequest::Choice::kFirstListed,
                                  .queues = {"mail"},
                                  .wid = "w1",
                                  .wait_until = web.now + 2s},
                                 web.now));
  CHECK(throttled(web) == "1 in each worker");
}

}  // namespace millrace::http
