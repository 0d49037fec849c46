#include "core/broker/features/activity.hpp"

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

Json changes(WebFixture& web, const std::string& query = "") {
  return web.read("/api/v1/activity" + query)["changes"];
}

TEST_CASE("activity: a change tells when, from where, what and how many") {
  WebFixture web;
  web.put("bytes", "mail");
  Request request = request_of("POST", "/api/v1/queues/mail/pause");
  request.body = R"({"seconds":60})";
  request.from = "192.0.2.7";
  request.headers["user-agent"] = "curl/7.88.1 (x)";
  request.headers["authorization"] = "Basic YWRhOnNlY3JldA==";
  CHECK(web.ask(request).status == 200);
  const Json change = changes(web)[0];
  CHECK(change["action"] == "queues/pause");
  CHECK(change["target"] == "mail");
  CHECK(change["details"] == "for 60 s");
  CHECK(change["page"] == nullptr);
  CHECK(change["from"] == "192.0.2.7");
  CHECK(change["user"] == "ada");
  CHECK(change["client"] == "curl/7.88.1");
  CHECK(change["protocol"] == "http");
  CHECK(change["changed"] == nullptr);
  CHECK(change["is_running"] == false);
  CHECK(change["at"].is_string());
}

TEST_CASE("activity: a proxy names whom it speaks for") {
  WebFixture web;
  web.put("bytes", "mail");
  Request request = request_of("POST", "/api/v1/queues/mail/pause");
  request.body = "{}";
  request.from = "127.0.0.1";
  request.headers["x-forwarded-for"] = "192.0.2.7";
  request.headers["x-requested-with"] = "millrace";
  CHECK(web.ask(request).status == 200);
  CHECK(changes(web)[0]["from"] == "192.0.2.7 by 127.0.0.1");
  CHECK(changes(web)[0]["client"] == "web UI");
}

TEST_CASE("activity: jobs are counted, in the end those of an operation") {
  WebFixture web;
  const std::string one = std::to_string(web.put("bytes"));
  CHECK(web.post("/api/v1/jobs/" + one + "/kill").status == 200);
  CHECK(changes(web)[0]["changed"] == 1);
  CHECK(changes(web)[0]["target"] == one);
  CHECK(changes(web)[0]["details"] == "ready → dead");
  for (int i = 0; i < 3; ++i) web.put("bytes");
  CHECK(web.post("/api/v1/operations", {{"action", "delete"}, {"states", {"ready"}}}).status ==
        202);
  CHECK(changes(web)[0]["is_running"] == true);
  CHECK(changes(web)[0]["details"] == "delete ready jobs");
  web.settle();
  CHECK(changes(web)[0]["is_running"] == false);
  CHECK(changes(web)[0]["changed"] == 3);
}

TEST_CASE("activity: a change says what was before and after") {
  WebFixture web;
  const std::string id = std::to_string(web.put("bytes", "mail"));
  CHECK(web.post("/api/v1/jobs/" + id + "/move", {{"to", "low"}}).status == 200);
  CHECK(changes(web)[0]["details"] == "mail → low");
  CHECK(web.post("/api/v1/throttles/mail/set", {{"concurrency", 3}, {"timeout_s", 60}}).status ==
        200);
  CHECK(changes(web)[0]["details"] == "no limits → concurrency 3, timeout_s 60");
  CHECK(web.post("/api/v1/throttles/mail/set", {{"rate_count", 5}, {"rate_s", 1}}).status == 200);
  CHECK(changes(web)[0]["details"] == "concurrency 3, timeout_s 60 → rate_count 5, rate_s 1");
  CHECK(web.post("/api/v1/throttles/mail/reset").status == 200);
  CHECK(changes(web)[0]["details"] == "rate_count 5, rate_s 1 → no limits");
  const Json ids = Json::array({web.put("bytes"), web.put("bytes")});
  CHECK(web.post("/api/v1/jobs/change", {{"action", "kill"}, {"ids", ids}}).status == 200);
  CHECK(changes(web)[0]["details"] == "kill 2, 3");
  CHECK(web.post("/api/v1/jobs/change", {{"action", "move"}, {"ids", ids}, {"to", "low"}}).status ==
        200);
  CHECK(changes(web)[0]["details"] == "move 2, 3 → low");
  CHECK(changes(web)[0]["changed"] == 2);
}

TEST_CASE("activity: an operation on the jobs of one error says which") {
  WebFixture web;
  web.fail("Mail", "no route to 10.0.0.1", true);
  const Json errors = web.read("/api/v1/errors");
  const std::string group = errors["groups"][0]["group"].get<std::string>();
  CHECK(
      web.post("/api/v1/operations", {{"action", "retry"}, {"states", {"dead"}}, {"group", group}})
          .status == 202);
  const std::string said = changes(web)[0]["details"].get<std::string>();
  CHECK(said.find("no route to") != said.npos);
  CHECK(said.find(group) == said.npos);
}

TEST_CASE("activity: what is no page is none") {
  WebFixture web;
  web.put("bytes", "mail");
  for (const char* page : {"https://evil.example", "/\t/evil.example", "/\\evil.example", "x"}) {
    Request request = request_of("POST", "/api/v1/queues/mail/pause");
    request.body = "{}";
    request.headers["x-page"] = page;
    CHECK(web.ask(request).status == 200);
    CHECK(changes(web)[0]["page"] == nullptr);
  }
}

TEST_CASE("activity: a job that a person pushes is there, with the page") {
  WebFixture web;
  for (const std::string& args : {std::string("[]"), "[\"" + std::string(300'000, 'x') + "\"]"}) {
    Request request = request_of("POST", "/api/v1/jobs");
    request.body = R"({"jobtype":"Mail","queue":"mail","args":)" + args + "}";
    request.headers["x-requested-with"] = "millrace";
    request.headers["x-page"] = "/queues/mail";
    const Response pushed = web.ask_all(request);
    REQUIRE(pushed.status == 201);
    const Json change = changes(web)[0];
    CHECK(change["action"] == "jobs");
    CHECK(change["target"] == to_string(Json::parse(pushed.body)["id"]));
    CHECK(change["details"] == "Mail in mail");
    CHECK(change["page"] == "/queues/mail");
    CHECK(change["changed"] == 1);
  }
}

TEST_CASE("activity: what was refused, and pushes, are not there") {
  WebFixture web;
  CHECK(web.post("/api/v1/queues/none/pause").status == 404);
  CHECK(web.post("/api/v1/jobs", {{"jobtype", "T"}, {"args", Json::array()}}).status == 201);
  CHECK(changes(web).empty());
}

TEST_CASE("activity: pages, the latest first, and no more than the last ones") {
  WebFixture web;
  for (std::size_t i = 0; i < Activity::kChangesMax + 5; ++i) {
    web.broker.activity().note({.action = "a" + std::to_string(i)});
  }
  const Json page = web.read("/api/v1/activity?limit=2");
  CHECK(page["changes"][0]["action"] == "a1004");
  CHECK(page["changes"][1]["action"] == "a1003");
  const std::string next = page["next"].get<std::string>();
  CHECK(changes(web, "?limit=2&cursor=" + next)[0]["action"] == "a1002");
  CHECK(changes(web, "?cursor=7")[0]["action"] == "a5");
  CHECK(web.read("/api/v1/activity?cursor=7")["next"] == nullptr);
  CHECK(changes(web, "?cursor=1").empty());
  CHECK(web.get("/api/v1/activity?cursor=x").status == 400);
}

TEST_CASE("activity: texts of clients are cut") {
  WebFixture web;
  web.broker.activity().note({.client = std::string(10'000, 'x')});
  CHECK(changes(web)[0]["client"].get<std::string>().size() == Activity::kTextBytesMax);
}

}  // namespace
}  // namespace millrace::http
