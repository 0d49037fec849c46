#include "http/asking.hpp"
#include "http/desk.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("stats: what INFO answers") {
  Desk desk;
  desk.push("Mail", "mail");
  desk.put("x", "tube");
  const std::string stats = desk.get("/stats").body;
  CHECK(stats == desk.service.info(desk.now, {{"mail", 1}, {"tube", 1}})());
  CHECK(stats.find(R"("queues":{"mail":1,"tube":1})") != std::string::npos);
  CHECK(Json::parse(stats)["faktory"]["total_queues"] == 2);
}

TEST_CASE("stats: many queues are looked at in turns") {
  Desk desk;
  fill_queues(desk, 5002);
  CHECK(desk.read("/stats")["faktory"]["total_queues"] == 5001);
  CHECK(desk.turns == 2);
  CHECK(desk.read("/health")["status"] == "serving");
}

TEST_CASE("health: 200 while serving, 503 while stopping") {
  Desk desk;
  CHECK(desk.get("/health").status == 200);
  desk.traffic.is_stopping = true;
  CHECK(desk.get("/health").status == 503);
}

TEST_CASE("health: 503 while the disk stores nothing, and the overview says so") {
  Desk desk;
  desk.traffic.is_stalled = true;
  CHECK(desk.get("/health").status == 503);
  CHECK(Json::parse(desk.get("/health").body)["status"] == "stalled");
  const Json overview = desk.read("/api/v1/overview");
  CHECK(overview["health"]["level"] == "trouble");
  CHECK(overview["attention"][0]["kind"] == "stalled");
}

TEST_CASE("health: 200 without room for new jobs, since all else is served") {
  Desk desk;
  CHECK(Json::parse(desk.get("/health").body)["accepts_jobs"] == true);
  CHECK(has_line(desk.get("/metrics").body, "millrace_accepts_jobs 1"));
  desk.broker.set_admission(Admission::kNoJobs);
  CHECK(desk.read("/health")["accepts_jobs"] == false);
  CHECK(has_line(desk.get("/metrics").body, "millrace_accepts_jobs 0"));
}

TEST_CASE("overview: health in one sentence, and what needs attention") {
  Desk desk;
  CHECK(desk.read("/api/v1/overview")["health"]["text"] == "All is well: ready for the first job.");
  desk.push("Mail", "mail");
  desk.now += 2min;
  const Json shown = desk.read("/api/v1/overview");
  CHECK(shown["health"]["level"] == "trouble");
  CHECK(shown["health"]["text"] == "mail has 1 waiting job and no worker.");
  CHECK(shown["attention"][0]["kind"] == "abandoned");
  CHECK(shown["attention"][0]["queue"] == "mail");
  CHECK(shown["oldest_ready"]["queue"] == "mail");
}

TEST_CASE("history: days within the limit only") {
  Desk desk;
  desk.fail("Mail", "x");
  CHECK(desk.read("/api/v1/history?days=7")["days"][0]["failed"] == 1);
  CHECK(desk.get("/api/v1/history?days=180").status == 200);
  CHECK(desk.get("/api/v1/history?days=181").status == 400);
}

}  // namespace millrace::http
