#include "http/asking.hpp"
#include "http/desk.hpp"
#include "http/kit/text.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

Json start(Desk& desk, const Json& body) {
  const Response response = desk.post("/api/v1/operations", body);
  REQUIRE_MESSAGE(response.status == 202, response.body);
  return Json::parse(response.body);
}

std::string path_of(const Json& operation) {
  return "/api/v1/operations/" + std::to_string(operation["id"].get<std::uint64_t>());
}

}  // namespace

TEST_CASE("operations: all that match are changed, and nothing else") {
  Desk desk;
  const JobId match = desk.fail("Mail", "timeout after 3 s");
  const JobId other = desk.fail("Mail", "refused");
  const Json begun =
      start(desk, {{"action", "delete"}, {"states", {"retrying"}}, {"error", "timeout"}});
  desk.settle();
  CHECK(desk.find(match) == nullptr);
  CHECK(desk.find(other) != nullptr);
  const Json ended = desk.read(path_of(begun));
  CHECK(ended["phase"] == "done");
  CHECK(ended["changed"] == 1);
}

TEST_CASE("operations: a slice at a time, with progress") {
  Desk desk;
  for (int i = 0; i < 1200; ++i) desk.put("x");
  const Json begun = start(desk, {{"action", "delete"}, {"states", {"ready"}}});
  CHECK(begun["to_look_at"] == 1200);
  CHECK(desk.bulks.work(desk.now));
  const Json half = desk.read(path_of(begun));
  CHECK(half["phase"] == "running");
  CHECK(half["changed"] == 250);
  desk.settle();
  CHECK(desk.read(path_of(begun))["changed"] == 1200);
}

TEST_CASE("operations: cancelled, the rest stays") {
  Desk desk;
  for (int i = 0; i < 1200; ++i) desk.put("x");
  const Json begun = start(desk, {{"action", "delete"}, {"states", {"ready"}}});
  desk.bulks.work(desk.now);
  const Response cancelled = desk.post(path_of(begun) + "/cancel");
  CHECK(cancelled.status == 200);
  CHECK(Json::parse(cancelled.body)["phase"] == "cancelled");
  desk.settle();
  CHECK(desk.broker.view().job_count(JobState::kReady) == 950);
  CHECK(desk.post(path_of(begun) + "/cancel").status == 409);
}

TEST_CASE("operations: what comes after the beginning is left alone") {
  Desk desk;
  for (int i = 0; i < 600; ++i) desk.put("x");
  start(desk, {{"action", "delete"}, {"states", {"ready"}}});
  desk.bulks.work(desk.now);
  const JobId late = desk.put("late");
  desk.settle();
  CHECK(desk.find(late) != nullptr);
  CHECK(desk.broker.view().job_count(JobState::kReady) == 1);
}

TEST_CASE("operations: what came after it was counted is left alone") {
  Desk desk;
  const JobId counted = desk.put("x");
  const std::string as_of = as_of_now(desk);
  const JobId late = desk.put("x");
  start(desk, {{"action", "delete"}, {"states", {"ready"}}, {"as_of", as_of}});
  desk.settle();
  CHECK(desk.find(counted) == nullptr);
  CHECK(desk.find(late) != nullptr);
}

TEST_CASE("operations: never more are changed than somebody agreed to") {
  Desk desk;
  for (int i = 0; i < 900; ++i) desk.fail("Mail", "refused", true);
  const Json begun = start(desk, {{"action", "delete"}, {"states", {"dead"}}, {"at_most", 700}});
  desk.settle();
  CHECK(desk.read(path_of(begun))["changed"] == 700);
  CHECK(desk.broker.view().job_count(JobState::kDead) == 200);
}

TEST_CASE("operations: what moved to where it was counted is left alone") {
  Desk desk;
  const JobId counted = desk.put("x");
  const JobId scheduled =
      desk.broker.put({.queue = "default", .body = "x", .due = desk.now + 3s}, desk.now).value();
  desk.now += 1s;
  const std::string as_of = as_of_now(desk);
  desk.now += 2s;
  desk.broker.tick(desk.now);
  REQUIRE(desk.find(scheduled)->state == JobState::kReady);
  const auto clear = [&] {
    CHECK(desk.post("/api/v1/queues/default/clear", {{"as_of", as_of}}).status == 202);
    desk.settle();
  };
  clear();
  CHECK(desk.find(counted) == nullptr);
  REQUIRE(desk.find(scheduled) != nullptr);
  CHECK(desk.post("/api/v1/jobs/" + std::to_string(scheduled) + "/kill").status == 200);
  start(desk, {{"action", "delete"}, {"states", {"dead"}}, {"as_of", as_of}});
  desk.settle();
  CHECK(desk.find(scheduled) != nullptr);
}

TEST_CASE("operations: an age is one at the time of the count") {
  Desk desk;
  const JobId old = desk.put("x");
  desk.now += 5s;
  const JobId young = desk.put("x");
  CHECK(desk.read("/api/v1/jobs/count?state=ready&older_than_s=3")["matched"] == 1);
  const std::string as_of = as_of_now(desk);
  desk.now += 60s;
  start(desk, {{"action", "delete"}, {"states", {"ready"}}, {"older_than_s", 3}, {"as_of", as_of}});
  desk.settle();
  CHECK(desk.find(old) == nullptr);
  CHECK(desk.find(young) != nullptr);
}

TEST_CASE("operations: who agreed to none changes none") {
  Desk desk;
  desk.put("x");
  const Json begun = start(desk, {{"action", "delete"}, {"states", {"ready"}}, {"at_most", 0}});
  desk.settle();
  CHECK(desk.read(path_of(begun))["phase"] == "done");
  CHECK(desk.broker.view().job_count(JobState::kReady) == 1);
}

TEST_CASE("operations: bounds that are none are refused") {
  Desk desk;
  const Json body{{"action", "delete"}, {"states", {"ready"}}};
  for (const Json& bound : {Json(-1), Json("7"), Json(nullptr), Json(1.5)}) {
    for (const char* name : {"as_of", "at_most"}) {
      Json bounded = body;
      bounded[name] = bound;
      CHECK(desk.post("/api/v1/operations", bounded).status == 400);
      CHECK(desk.post("/api/v1/queues/default/clear", {{name, bound}}).status != 202);
    }
  }
}

TEST_CASE("operations: a failure group is retried in both of its states") {
  Desk desk;
  const JobId retrying = desk.fail("Mail", "line 17 failed");
  const JobId dead = desk.fail("Mail", "line 4 failed", true);
  const Json groups = desk.read("/api/v1/errors")["groups"];
  REQUIRE(groups.size() == 1);
  const Json begun = start(
      desk, {{"action", "retry"}, {"states", {"retrying", "dead"}}, {"group", groups[0]["group"]}});
  CHECK(begun["title"] == concat("retry retrying and dead jobs with group \"",
                                 groups[0]["group"].get<std::string>(), "\""));
  desk.settle();
  CHECK(desk.find(retrying)->state == JobState::kReady);
  CHECK(desk.find(dead)->state == JobState::kReady);
}

TEST_CASE("operations: reserved jobs, unknown states and actions are refused") {
  Desk desk;
  const auto status = [&](const Json& body) {
    return desk.post("/api/v1/operations", body).status;
  };
  CHECK(status({{"action", "delete"}, {"states", {"reserved"}}}) == 400);
  CHECK(status({{"action", "delete"}, {"states", Json::array()}}) == 400);
  CHECK(status({{"action", "delete"}, {"states", {"lost"}}}) == 400);
  CHECK(status({{"action", "boil"}, {"states", {"dead"}}}) == 400);
  CHECK(status({{"action", "delete"}, {"states", {"dead"}}, {"type", 4}}) == 400);
  CHECK(desk.get("/api/v1/operations/9").status == 404);
}

TEST_CASE("operations: a misspelt filter is refused, and changes nothing") {
  Desk desk;
  const JobId id = desk.put("x");
  const Response refused = desk.post(
      "/api/v1/operations", {{"action", "kill"}, {"states", {"ready"}}, {"que", "emails"}});
  CHECK(refused.status == 400);
  CHECK(refused.body == R"({"error":"no such member: que"})");
  desk.settle();
  CHECK(desk.find(id)->state == JobState::kReady);
}

TEST_CASE("operations: a body with very many members is refused as quickly as others") {
  Desk desk;
  std::string members = R"("action":{)";
  for (int i = 0; i < 100'000; ++i) members += concat(i > 0 ? "," : "", "\"m", i, "\":0");
  Request request = request_of("POST", "/api/v1/operations");
  request.body = concat("{", members, "},", members.substr(10), "}");
  const Response refused = desk.ask(request);
  CHECK(refused.status == 400);
  CHECK(refused.body == R"({"error":"no such member: m0"})");
}

TEST_CASE("operations: a filter that says nothing is refused, and changes nothing") {
  Desk desk;
  const JobId id = desk.put("x");
  for (const char* body :
       {R"({"action":"delete","states":["ready"],"queue":""})",
        R"({"action":"delete","states":["ready"],"queue":null})",
        R"({"action":"delete","states":["ready"],"error":""})",
        R"({"action":"delete","states":["ready"],"client":0})",
        R"({"action":"delete","states":["ready"],"older_than_s":0})",
        R"({"action":"delete","states":["ready"],"older_than_s":null})",
        R"({"action":"delete","states":["ready"],"queue":"none","queue":"default"})",
        R"({"action":"delete","states":["dead"],"states":["ready"]})",
        R"({"action":"delete","states":["ready","ready"]})"}) {
    Request request = request_of("POST", "/api/v1/operations");
    request.body = body;
    const Response refused = desk.ask(request);
    CHECK_MESSAGE(refused.status == 400, body);
  }
  desk.settle();
  CHECK(desk.find(id)->state == JobState::kReady);
}

TEST_CASE("operations: as many as the limit run at a time, one more is refused") {
  Desk desk;
  desk.put("x");
  const Json body{{"action", "delete"}, {"states", {"dead"}}};
  for (std::size_t i = 0; i < BulkChanges::kRunningMax; ++i) start(desk, body);
  CHECK(desk.post("/api/v1/operations", body).status == 429);
}

}  // namespace millrace::http
