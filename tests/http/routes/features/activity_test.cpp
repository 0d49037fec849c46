#include "core/broker/features/activity.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "http/kit/guard.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"
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
  CHECK(change["how"] == "none");
  CHECK(change["is_refused"] == false);
  CHECK(change["attempts"] == nullptr);
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
  CHECK(changes(web)[0]["action"] == "operations/delete");
  web.put("bytes", "mail");
  CHECK(
      web.post("/api/v1/operations", {{"action", "kill"}, {"states", {"ready"}}, {"queue", "mail"}})
          .status == 202);
  CHECK(changes(web)[0]["target"] == "mail");
  CHECK(web.read("/api/v1/queues/mail")["last_change"]["action"] == "operations/kill");
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

TEST_CASE("activity: changes of a time, and those asked for on a page") {
  WebFixture web;
  const auto ms = [&web] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(web.now.time_since_epoch())
        .count();
  };
  const auto begin = ms();
  for (const char* const queue : {"a", "b"}) web.put("bytes", queue);
  for (const char* const page : {"/queues/a", "/queues/b", "/queues/a"}) {
    Request request = request_of("POST", concat("/api/v1/queues/", page + 8, "/pause"));
    request.headers["x-requested-with"] = "millrace";
    request.headers["x-page"] = page;
    CHECK(web.ask_all(request).status == 200);
    web.now += 1min;
  }
  const auto count = [&web](const std::string& filter) {
    return web.read("/api/v1/activity?" + filter)["changes"].size();
  };
  CHECK(count("page=/queues/a") == 2);
  CHECK(count(concat("since_ms=", begin + 60'000)) == 2);
  CHECK(count(concat("until_ms=", begin + 60'000)) == 1);
  CHECK(count(concat("since_ms=", begin + 60'000, "&page=/queues/a")) == 1);
  CHECK(count("target=a") == 2);
  CHECK(count("target=a&page=/queues/b") == 0);
  CHECK(web.get("/api/v1/activity?since_ms=soon").status == 400);
}

TEST_CASE("activity: pages, the latest first") {
  WebFixture web;
  for (std::size_t i = 0; i < 1005; ++i) {
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

TEST_CASE("activity: the answer to a change waits until it is recorded") {
  WebFixture web;
  web.put("bytes", "mail");
  CHECK(web.post("/api/v1/queues/mail/pause").is_change);
  web.fail("Mail", "refused");
  const std::string group = web.read("/api/v1/errors")["groups"][0]["group"].get<std::string>();
  CHECK(web.post("/api/v1/errors/" + group + "/note", {{"text", "known"}}).is_change);
}

Request wrong_login(const std::string& from) {
  Request request = request_of("GET", "/api/v1/queues");
  request.from = from;
  request.headers["authorization"] = "Basic YWRhOnNlY3JldA==";
  return request;
}

TEST_CASE("activity: a token that is sent as a name is not noted") {
  const GuardSettings settings{.password = "right"};
  Request request = request_of("GET", "/api/v1/queues");
  // mrt_secret:
  request.headers.emplace("authorization", "Basic bXJ0X3NlY3JldDo=");
  const auto attempt =
      refused_attempt(request, check(request, settings, login_of(request, settings)).value());
  REQUIRE(attempt);
  CHECK(attempt->user == "a token");
}

TEST_CASE("activity: a wrong password is an attempt, and no password is none") {
  WebFixture web;
  const GuardSettings settings{.password = "right"};
  const Request request = wrong_login("192.0.2.7");
  auto attempt =
      refused_attempt(request, check(request, settings, login_of(request, settings)).value());
  REQUIRE(attempt);
  CHECK(attempt->action == "login");
  CHECK(attempt->user == "ada");
  attempt->at = web.now;
  web.broker.activity().refuse(*attempt, request.from);
  const Json change = changes(web)[0];
  CHECK(change["is_refused"] == true);
  CHECK(change["attempts"] == 1);
  CHECK(change["changed"] == nullptr);
  CHECK(change["details"] == "wrong password");
  const Request without = request_of("GET", "/api/v1/queues");
  CHECK_FALSE(
      refused_attempt(without, check(without, settings, login_of(without, settings)).value()));
}

TEST_CASE("activity: pages outside of the API are attempts by their names") {
  for (const std::string name : {"stats", "metrics"}) {
    Request request = request_of("GET", "/" + name);
    request.caller = {};
    const auto attempt = refused_attempt(request, refuse(403, "no"));
    REQUIRE(attempt);
    CHECK(attempt->action == name);
    CHECK(attempt->target.empty());
  }
}

TEST_CASE("activity: a change that a read-only port refuses is an attempt") {
  const GuardSettings settings{.is_read_only = true};
  const Request pause = request_of("POST", "/api/v1/queues/mail/pause");
  const auto attempt =
      refused_attempt(pause, check(pause, settings, login_of(pause, settings)).value());
  REQUIRE(attempt);
  CHECK(attempt->action == "queues/pause");
  CHECK(attempt->target == "mail");
  const Request nothing = request_of("POST", "/api/v1/no/such/page");
  CHECK_FALSE(
      refused_attempt(nothing, check(nothing, settings, login_of(nothing, settings)).value()));
}

/// Two changes of people and a guess, an hour apart.
struct FilledActivity : WebFixture {
  FilledActivity() {
    note("ana", "192.0.2.7", "queues/pause", "mail");
    note("bob", "192.0.2.8", "jobs/kill", "7");
    broker.activity().refuse({.at = now,
                              .protocol = "faktory",
                              .from = "198.51.100.1",
                              .client = "",
                              .action = "login",
                              .target = "",
                              .details = "wrong password"},
                             "198.51.100.1");
  }
  void note(const std::string& user, const std::string& from, const std::string& action,
            const std::string& target) {
    broker.activity().note({.at = now,
                            .protocol = "http",
                            .from = from,
                            .user = user,
                            .how = "password",
                            .client = "curl",
                            .action = action,
                            .target = target,
                            .details = {}});
    now += 1h;
  }
  std::vector<int> numbers(const std::string& query) {
    std::vector<int> all;
    for (const Json& each : changes(*this, query)) all.push_back(each["number"].get<int>());
    return all;
  }
  [[nodiscard]] std::string ms_ago(Duration age) const {
    const Time at = broker.view().wall_clock().shown(now - age);
    return std::to_string(
        std::chrono::floor<std::chrono::milliseconds>(at).time_since_epoch().count());
  }
};

TEST_CASE_FIXTURE(FilledActivity, "activity: filters, alone and together") {
  CHECK(numbers("") == std::vector<int>{3, 2, 1});
  CHECK(numbers("?who=AN") == std::vector<int>{1});
  CHECK(numbers("?who=curl") == std::vector<int>{2, 1});
  CHECK(numbers("?from=192.0.2.8") == std::vector<int>{2});
  CHECK(numbers("?action=queues") == std::vector<int>{1});
  CHECK(numbers("?text=Password") == std::vector<int>{3});
  CHECK(numbers("?refused=1") == std::vector<int>{3});
  CHECK(numbers("?refused=0") == std::vector<int>{2, 1});
  CHECK(numbers("?since_ms=" + ms_ago(90min)) == std::vector<int>{3, 2});
  CHECK(numbers("?until_ms=" + ms_ago(90min)) == std::vector<int>{1});
  CHECK(numbers("?who=ana&action=jobs").empty());
  CHECK(get("/api/v1/activity?refused=2").status == 400);
  CHECK(get("/api/v1/activity?since_ms=x").status == 400);
  CHECK(get("/api/v1/activity?format=xml").status == 400);
}

TEST_CASE_FIXTURE(FilledActivity, "activity: an export has a line for each change that matches") {
  Request request = request_of("GET", "/api/v1/activity?who=curl&limit=1");
  request.headers["accept"] = "application/x-ndjson";
  const Response response = ask_all(request);
  CHECK(response.type == "application/x-ndjson");
  std::istringstream lines(response.body);
  std::vector<std::string> users;
  for (std::string line; std::getline(lines, line);) users.push_back(Json::parse(line)["user"]);
  CHECK(users == std::vector<std::string>{"bob", "ana"});
  CHECK(get("/api/v1/activity?format=ndjson&who=nobody").body.empty());
}

TEST_CASE("activity: all that are kept are paged through, in many turns") {
  WebFixture web;
  constexpr std::size_t kMore = 5;
  for (std::size_t i = 0; i < AuditLog::kChangesMax + kMore; ++i) {
    web.broker.activity().note({.client = {}, .action = "a", .target = {}, .details = {}});
  }
  std::size_t count = 0;
  std::string query = "/api/v1/activity?limit=200";
  for (Json next = ""; next != nullptr;) {
    const Json page = web.read(query + "&cursor=" + next.get<std::string>());
    count += page["changes"].size();
    next = page["next"];
  }
  CHECK(count == AuditLog::kChangesMax);
  const std::string lines = web.get("/api/v1/activity?format=ndjson").body;
  CHECK(static_cast<std::size_t>(std::ranges::count(lines, '\n')) == AuditLog::kChangesMax);
  CHECK(web.turns > 10);
}

TEST_CASE("activity: a job and a queue tell their last change") {
  WebFixture web;
  const std::string id = std::to_string(web.put("bytes", "mail"));
  CHECK(web.read("/api/v1/jobs/" + id)["last_change"] == nullptr);
  CHECK(web.post("/api/v1/queues/mail/pause").status == 200);
  Request request = request_of("POST", "/api/v1/jobs/" + id + "/kill");
  request.body = "{}";
  request.headers["authorization"] = "Basic YWRhOnNlY3JldA==";
  CHECK(web.ask(request).status == 200);
  const Json change = web.read("/api/v1/jobs/" + id)["last_change"];
  CHECK(change["action"] == "jobs/kill");
  CHECK(change["user"] == "ada");
  CHECK(web.read("/api/v1/queues/mail")["last_change"]["action"] == "queues/pause");
}

}  // namespace
}  // namespace millrace::http
