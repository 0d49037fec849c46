#include "http/asking.hpp"
#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

Json start(WebFixture& web, const Json& body) {
  const Response response = web.post("/api/v1/operations", body);
  REQUIRE_MESSAGE(response.status == 202, response.body);
  return Json::parse(response.body);
}

std::string path_of(const Json& operation) {
  return "/api/v1/operations/" + std::to_string(operation["id"].get<std::uint64_t>());
}

}  // namespace

TEST_CASE("operations: all that match are changed, and nothing else") {
  WebFixture web;
  const JobId match = web.fail("Mail", "timeout after 3 s");
  const JobId other = web.fail("Mail", "refused");
  const Json begun =
      start(web, {{"action", "delete"}, {"states", {"retrying"}}, {"error", "timeout"}});
  web.settle();
  CHECK(web.find(match) == nullptr);
  CHECK(web.find(other) != nullptr);
  const Json ended = web.read(path_of(begun));
  CHECK(ended["phase"] == "done");
  CHECK(ended["changed"] == 1);
}

TEST_CASE("operations: a change of the jobs of several queues leaves those of others alone") {
  WebFixture web;
  for (const char* queue : {"mail", "other", "mail-slow"}) web.push("Send", queue);
  const Json begun = start(web, {{"action", "delete"}, {"states", {"ready"}}, {"queue", "mail*"}});
  CHECK(begun["title"] == "delete ready jobs of mail*");
  web.settle();
  CHECK(web.read(path_of(begun))["changed"] == 2);
  CHECK(web.read("/api/v1/jobs")["jobs"][0]["queue"] == "other");
}

TEST_CASE("operations: all that match are moved to another queue") {
  WebFixture web;
  for (const char* queue : {"mail", "mail", "other"}) web.push("Send", queue);
  const JobId dead = web.fail("Send", "timeout", true);
  Json request{
      {"action", "move"}, {"states", {"ready", "dead"}}, {"type", "Send"}, {"to", "later"}};
  const Json begun = start(web, request);
  CHECK(begun["title"] == "move ready and dead jobs with type \"Send\" to later");
  web.settle();
  CHECK(web.read(path_of(begun))["changed"] == 4);
  CHECK(web.read("/api/v1/jobs/count?state=ready&queue=later")["matched"] == 3);
  CHECK(web.find(dead)->state == JobState::kDead);
  request["spread_s"] = 60;
  CHECK(web.post("/api/v1/operations", request).status == 400);
  request.erase("spread_s");
  request.erase("to");
  CHECK(web.post("/api/v1/operations", request).status == 400);
}

TEST_CASE("operations: pushed jobs do not go where no worker could fetch them") {
  WebFixture web;
  web.push("Send");
  const JobId put = web.put("x");
  const Json begun =
      start(web, {{"action", "move"}, {"states", {"ready"}}, {"queue", "default"}, {"to", "a/b"}});
  CHECK(begun["title"] ==
        "move ready jobs of default to a/b, which Faktory clients cannot name: pushed jobs stay");
  web.settle();
  CHECK(web.read(path_of(begun))["changed"] == 1);
  CHECK(web.read("/api/v1/jobs/" + std::to_string(put))["queue"] == "a/b");
}

TEST_CASE("operations: retries are spread over some time") {
  WebFixture web;
  for (int i = 0; i < 3; ++i) web.fail("Mail", "timeout", true);
  const Json request = {
      {"action", "retry"}, {"states", {"dead"}}, {"spread_s", 60}, {"at_most", 3}};
  start(web, request);
  web.settle();
  CHECK(web.read("/api/v1/jobs/count?state=ready")["matched"] == 1);
  CHECK(web.read("/api/v1/jobs/count?state=scheduled")["matched"] == 2);
  const auto status = [&](const char* name, const Json& value) {
    Json changed = request;
    changed[name] = value;
    return web.post("/api/v1/operations", changed).status;
  };
  CHECK(status("spread_s", 0) == 400);
  CHECK(status("spread_s", 86'401) == 400);
  CHECK(status("spread_s", "60") == 400);
  CHECK(status("action", "kill") == 400);
  CHECK(status("states", {"dead", "scheduled"}) == 400);
}

TEST_CASE("operations: a spread over an unknown number of jobs is refused") {
  WebFixture web;
  web.fail("Mail", "timeout", true);
  const auto group = web.read("/api/v1/errors")["groups"][0]["group"].get<std::string>();
  const auto status = [&](const Json& more) {
    Json request = {{"action", "retry"}, {"states", {"dead"}}, {"spread_s", 60}};
    request.update(more);
    return web.post("/api/v1/operations", request).status;
  };
  CHECK(status({{"error", "time"}}) == 400);
  CHECK(status({{"queue", "fail*"}}) == 400);
  CHECK(status({{"queue", "failing"}, {"group", group}}) == 400);
  CHECK(status({{"error", "time"}, {"at_most", 1}}) == 202);
  // Of these it is known.
  CHECK(status(Json::object()) == 202);
  CHECK(status({{"queue", "failing"}}) == 202);
  CHECK(status({{"group", group}}) == 202);
}

TEST_CASE("operations: on the jobs of an error leave all others alone") {
  WebFixture web;
  const JobId one = web.fail("Mail", "timeout after 1 s", true);
  const JobId other = web.fail("Mail", "refused", true);
  const JobId two = web.fail("Mail", "timeout after 2 s", true);
  const auto group = web.read("/api/v1/jobs/" + std::to_string(one))["error"]["group"];
  const Json begun =
      start(web, {{"action", "delete"}, {"states", {"dead", "retrying"}}, {"group", group}});
  CHECK(begun["to_look_at"] == 2);
  CHECK(begun["title"] == "delete dead and retrying jobs with \"Oops: timeout after # s\"");
  web.settle();
  CHECK(web.read(path_of(begun))["changed"] == 2);
  CHECK(web.find(one) == nullptr);
  CHECK(web.find(two) == nullptr);
  CHECK(web.find(other) != nullptr);
}

TEST_CASE("operations: a slice at a time, with progress") {
  WebFixture web;
  for (int i = 0; i < 1200; ++i) web.put("x");
  const Json begun = start(web, {{"action", "delete"}, {"states", {"ready"}}});
  CHECK(begun["to_look_at"] == 1200);
  CHECK(web.bulks.work(web.now));
  const Json half = web.read(path_of(begun));
  CHECK(half["phase"] == "running");
  CHECK(half["changed"] == 250);
  web.settle();
  CHECK(web.read(path_of(begun))["changed"] == 1200);
}

TEST_CASE("operations: cancelled, the rest stays") {
  WebFixture web;
  for (int i = 0; i < 1200; ++i) web.put("x");
  const Json begun = start(web, {{"action", "delete"}, {"states", {"ready"}}});
  web.bulks.work(web.now);
  const Response cancelled = web.post(path_of(begun) + "/cancel");
  CHECK(cancelled.status == 200);
  CHECK(Json::parse(cancelled.body)["phase"] == "cancelled");
  web.settle();
  CHECK(web.broker.view().orders().count(JobState::kReady) == 950);
  CHECK(web.post(path_of(begun) + "/cancel").status == 409);
}

TEST_CASE("operations: what comes after the beginning is left alone") {
  WebFixture web;
  for (int i = 0; i < 600; ++i) web.put("x");
  start(web, {{"action", "delete"}, {"states", {"ready"}}});
  web.bulks.work(web.now);
  const JobId late = web.put("late");
  web.settle();
  CHECK(web.find(late) != nullptr);
  CHECK(web.broker.view().orders().count(JobState::kReady) == 1);
}

TEST_CASE("operations: what came after it was counted is left alone") {
  WebFixture web;
  const JobId counted = web.put("x");
  const std::string as_of = as_of_now(web);
  const JobId late = web.put("x");
  start(web, {{"action", "delete"}, {"states", {"ready"}}, {"as_of", as_of}});
  web.settle();
  CHECK(web.find(counted) == nullptr);
  CHECK(web.find(late) != nullptr);
}

TEST_CASE("operations: never more are changed than somebody agreed to") {
  WebFixture web;
  for (int i = 0; i < 900; ++i) web.fail("Mail", "refused", true);
  const Json begun = start(web, {{"action", "delete"}, {"states", {"dead"}}, {"at_most", 700}});
  web.settle();
  CHECK(web.read(path_of(begun))["changed"] == 700);
  CHECK(web.broker.view().orders().count(JobState::kDead) == 200);
}

TEST_CASE("operations: what moved to where it was counted is left alone") {
  WebFixture web;
  const JobId counted = web.put("x");
  const JobId scheduled =
      web.broker.put({.queue = "default", .body = "x", .due = web.now + 3s}, web.now).value();
  web.now += 1s;
  const std::string as_of = as_of_now(web);
  web.now += 2s;
  web.broker.tick(web.now);
  REQUIRE(web.find(scheduled)->state == JobState::kReady);
  const auto clear = [&] {
    CHECK(web.post("/api/v1/queues/default/clear", {{"as_of", as_of}}).status == 202);
    web.settle();
  };
  clear();
  CHECK(web.find(counted) == nullptr);
  REQUIRE(web.find(scheduled) != nullptr);
  CHECK(web.post("/api/v1/jobs/" + std::to_string(scheduled) + "/kill").status == 200);
  start(web, {{"action", "delete"}, {"states", {"dead"}}, {"as_of", as_of}});
  web.settle();
  CHECK(web.find(scheduled) != nullptr);
}

TEST_CASE("operations: an age is one at the time of the count") {
  WebFixture web;
  const JobId old = web.put("x");
  web.now += 5s;
  const JobId young = web.put("x");
  CHECK(web.read("/api/v1/jobs/count?state=ready&older_than_s=3")["matched"] == 1);
  const std::string as_of = as_of_now(web);
  web.now += 60s;
  start(web, {{"action", "delete"}, {"states", {"ready"}}, {"older_than_s", 3}, {"as_of", as_of}});
  web.settle();
  CHECK(web.find(old) == nullptr);
  CHECK(web.find(young) != nullptr);
}

TEST_CASE("operations: one for at most 0 jobs changes none") {
  WebFixture web;
  web.put("x");
  const Json begun = start(web, {{"action", "delete"}, {"states", {"ready"}}, {"at_most", 0}});
  web.settle();
  CHECK(web.read(path_of(begun))["phase"] == "done");
  CHECK(web.broker.view().orders().count(JobState::kReady) == 1);
}

TEST_CASE("operations: bounds that are none are refused") {
  WebFixture web;
  const Json body{{"action", "delete"}, {"states", {"ready"}}};
  for (const Json& bound : {Json(-1), Json("7"), Json(nullptr), Json(1.5)}) {
    for (const char* name : {"as_of", "at_most"}) {
      Json bounded = body;
      bounded[name] = bound;
      CHECK(web.post("/api/v1/operations", bounded).status == 400);
      CHECK(web.post("/api/v1/queues/default/clear", {{name, bound}}).status != 202);
    }
  }
}

TEST_CASE("operations: a failure group is retried in both of its states") {
  WebFixture web;
  const JobId retrying = web.fail("Mail", "line 17 failed");
  const JobId dead = web.fail("Mail", "line 4 failed", true);
  const Json groups = web.read("/api/v1/errors")["groups"];
  REQUIRE(groups.size() == 1);
  const Json begun = start(
      web, {{"action", "retry"}, {"states", {"retrying", "dead"}}, {"group", groups[0]["group"]}});
  CHECK(begun["title"] == "retry retrying and dead jobs with \"Oops: line # failed\"");
  web.settle();
  CHECK(web.find(retrying)->state == JobState::kReady);
  CHECK(web.find(dead)->state == JobState::kReady);
}

TEST_CASE("operations: reserved jobs, unknown states and actions are refused") {
  WebFixture web;
  const auto status = [&](const Json& body) { return web.post("/api/v1/operations", body).status; };
  CHECK(status({{"action", "delete"}, {"states", {"reserved"}}}) == 400);
  CHECK(status({{"action", "delete"}, {"states", Json::array()}}) == 400);
  CHECK(status({{"action", "delete"}, {"states", {"lost"}}}) == 400);
  CHECK(status({{"action", "boil"}, {"states", {"dead"}}}) == 400);
  CHECK(status({{"action", "delete"}, {"states", {"dead"}}, {"type", 4}}) == 400);
  CHECK(web.get("/api/v1/operations/9").status == 404);
}

TEST_CASE("operations: a misspelt filter is refused, and changes nothing") {
  WebFixture web;
  const JobId id = web.put("x");
  const Response refused = web.post("/api/v1/operations",
                                    {{"action", "kill"}, {"states", {"ready"}}, {"que", "emails"}});
  CHECK(refused.status == 400);
  CHECK(refused.body == R"({"error":"no such member: que"})");
  web.settle();
  CHECK(web.find(id)->state == JobState::kReady);
}

TEST_CASE("operations: a body with very many members is refused as quickly as others") {
  WebFixture web;
  std::string members = R"("action":{)";
  for (int i = 0; i < 100'000; ++i) members += concat(i > 0 ? "," : "", "\"m", i, "\":0");
  Request request = request_of("POST", "/api/v1/operations");
  request.body = concat("{", members, "},", members.substr(10), "}");
  const Response refused = web.ask(request);
  CHECK(refused.status == 400);
  CHECK(refused.body == R"({"error":"no such member: m0"})");
}

TEST_CASE("operations: a filter that says nothing is refused, and changes nothing") {
  WebFixture web;
  const JobId id = web.put("x");
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
    const Response refused = web.ask(request);
    CHECK_MESSAGE(refused.status == 400, body);
  }
  web.settle();
  CHECK(web.find(id)->state == JobState::kReady);
}

TEST_CASE("operations: as many as the limit run at a time, one more is refused") {
  WebFixture web;
  web.put("x");
  const Json body{{"action", "delete"}, {"states", {"dead"}}};
  for (std::size_t i = 0; i < BulkChanges::kRunningMax; ++i) start(web, body);
  CHECK(web.post("/api/v1/operations", body).status == 429);
}

}  // namespace millrace::http
