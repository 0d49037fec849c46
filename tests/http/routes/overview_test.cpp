#include "http/asking.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("stats: what INFO answers") {
  WebFixture web;
  web.push("Mail", "mail");
  web.put("x", "tube");
  const std::string stats = web.get("/stats").body;
  CHECK(stats == web.service.info(web.now, {{"mail", 1}, {"tube", 1}})());
  CHECK(stats.find(R"("queues":{"mail":1,"tube":1})") != std::string::npos);
  CHECK(Json::parse(stats)["faktory"]["total_queues"] == 2);
}

TEST_CASE("stats: many queues are looked at in turns") {
  WebFixture web;
  fill_queues(web, 5002);
  CHECK(web.read("/stats")["faktory"]["total_queues"] == 5001);
  CHECK(web.turns == 2);
  CHECK(web.read("/health")["status"] == "serving");
}

TEST_CASE("health: 200 while serving, 503 while stopping") {
  WebFixture web;
  CHECK(web.get("/health").status == 200);
  web.traffic.is_stopping = true;
  CHECK(web.get("/health").status == 503);
}

TEST_CASE("health: 503 while the disk stores nothing, and the overview says so") {
  WebFixture web;
  web.traffic.is_stalled = true;
  CHECK(web.get("/health").status == 503);
  CHECK(Json::parse(web.get("/health").body)["status"] == "stalled");
  const Json overview = web.read("/api/v1/overview");
  CHECK(overview["health"]["level"] == "trouble");
  CHECK(overview["attention"][0]["kind"] == "stalled");
}

TEST_CASE("health: no jobs are accepted while the leader has no lease") {
  WebFixture web;
  web.traffic.leadership.may_answer = false;
  CHECK(web.get("/health").status == 200);
  CHECK(web.read("/health")["accepts_jobs"] == false);
}

TEST_CASE("health: 200 without room for new jobs, since all else is served") {
  WebFixture web;
  CHECK(Json::parse(web.get("/health").body)["accepts_jobs"] == true);
  CHECK(has_line(web.get("/metrics").body, "millrace_accepts_jobs 1"));
  web.broker.set_admission(Admission::kNoJobs);
  CHECK(web.read("/health")["accepts_jobs"] == false);
  CHECK(has_line(web.get("/metrics").body, "millrace_accepts_jobs 0"));
}

TEST_CASE("overview: health in one sentence, and what needs attention") {
  WebFixture web;
  CHECK(web.read("/api/v1/overview")["health"]["text"] == "All is well: ready for the first job.");
  web.push("Mail", "mail");
  web.now += 2min;
  const Json shown = web.read("/api/v1/overview");
  CHECK(shown["health"]["level"] == "trouble");
  CHECK(shown["health"]["text"] == "mail has 1 waiting job and no worker.");
  CHECK(shown["attention"][0]["kind"] == "abandoned");
  CHECK(shown["attention"][0]["queue"] == "mail");
  CHECK(shown["oldest_ready"]["queue"] == "mail");
}

TEST_CASE("overview: workers that hold a job are busy, up to a thousand jobs") {
  WebFixture web;
  web.worker("w2");
  web.push("A");
  CHECK(web.read("/api/v1/overview")["busy_workers"] == 0);
  web.fetch();
  const Json one = web.read("/api/v1/overview");
  CHECK(one["workers"] == 2);
  CHECK(one["busy_workers"] == 1);
  for (int i = 0; i < 1'000; ++i) {
    web.push("A");
    web.fetch();
  }
  CHECK(web.read("/api/v1/overview")["busy_workers"].is_null());
}

TEST_CASE("history: days within the limit only") {
  WebFixture web;
  web.fail("Mail", "x");
  CHECK(web.read("/api/v1/history?days=7")["days"][0]["failed"] == 1);
  CHECK(web.get("/api/v1/history?days=180").status == 200);
  CHECK(web.get("/api/v1/history?days=181").status == 400);
}

}  // namespace millrace::http
