#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

Response push_text(WebFixture& web, const std::string& json,
                   const std::string& path = "/api/v1/jobs") {
  Request request = request_of("POST", path);
  request.body = json;
  return web.ask_all(request);
}

}  // namespace

TEST_CASE("job: retry, kill and delete") {
  WebFixture web;
  const JobId id = web.fail("Mail", "no route");
  const std::string path = "/api/v1/jobs/" + std::to_string(id);
  const Response retried = web.post(path + "/retry");
  CHECK(retried.is_change);
  CHECK(web.find(id)->state == JobState::kReady);
  CHECK(web.post(path + "/retry").status == 409);
  CHECK(web.post(path + "/kill").status == 200);
  CHECK(web.find(id)->state == JobState::kDead);
  CHECK(web.post(path + "/delete").status == 200);
  CHECK(web.find(id) == nullptr);
}

TEST_CASE("job: moved to another queue") {
  WebFixture web;
  const JobId id = web.fail("Mail", "no route");
  const std::string path = "/api/v1/jobs/" + std::to_string(id);
  const Response moved = web.post(path + "/move", {{"to", "later"}});
  CHECK(moved.status == 200);
  CHECK(moved.is_change);
  const Json job = web.read(path);
  CHECK(job["queue"] == "later");
  CHECK(job["state"] == "retrying");
  CHECK(job["error"]["message"] == "no route");
  CHECK(job["work_unit"]["queue"] == "later");
  CHECK(Json::parse(web.post(path + "/move", {{"to", "later"}}).body)["error"] ==
        "this job is in later already");
  for (const Json& body : {Json::object(), Json{{"to", ""}}, Json{{"to", "no queue"}},
                           Json{{"to", std::string(1025, 'x')}}}) {
    CHECK(web.post(path + "/move", body).status == 400);
  }
  CHECK(web.post(path + "/retry", {{"to", "x"}}).status == 400);
}

TEST_CASE("job: a pushed one does not go where no worker could fetch it, a put one does") {
  WebFixture web;
  const JobId pushed = web.push("Mail");
  const JobId put = web.put("x");
  const Json to{{"to", "a/b"}};
  const Response refused = web.post("/api/v1/jobs/" + std::to_string(pushed) + "/move", to);
  CHECK(refused.status == 400);
  CHECK(Json::parse(refused.body)["error"] ==
        "Faktory clients cannot name the queue a/b, and this job was pushed by one");
  const Json all{{"action", "move"}, {"ids", {pushed, put}}, {"to", "a/b"}};
  CHECK(Json::parse(web.post("/api/v1/jobs/change", all).body) ==
        Json{{"changed", 1}, {"gone", 0}, {"refused", 1}});
  CHECK(web.read("/api/v1/jobs/" + std::to_string(put))["queue"] == "a/b");
  CHECK(web.read("/api/v1/jobs/" + std::to_string(pushed))["queue"] == "default");
}

TEST_CASE("job: what somebody holds is not moved") {
  WebFixture web;
  const JobId id = web.push("Mail");
  CHECK(web.fetch() == id);
  const std::string path = "/api/v1/jobs/" + std::to_string(id) + "/move";
  CHECK(Json::parse(web.post(path, {{"to", "b"}}).body)["error"] ==
        "a running job is not moved: wait for the end of the run");
  CHECK(web.post(path, {{"to", "b"}, {"state", "reserved"}}).status == 409);
  CHECK(web.find(id)->state == JobState::kReserved);
}

TEST_CASE("jobs: several are moved at once") {
  WebFixture web;
  const JobId one = web.push("A");
  const JobId other = web.push("B", "later");
  const Json body{{"action", "move"}, {"ids", {one, other, 99}}, {"to", "later"}};
  const Json answer = Json::parse(web.post("/api/v1/jobs/change", body).body);
  CHECK(answer == Json{{"changed", 1}, {"gone", 1}, {"refused", 1}});
  CHECK(web.post("/api/v1/jobs/change", {{"action", "move"}, {"ids", {one}}}).status == 400);
}

TEST_CASE("job: what somebody holds is left alone") {
  WebFixture web;
  const JobId id = web.push("Mail");
  CHECK(web.fetch() == id);
  CHECK(web.post("/api/v1/jobs/" + std::to_string(id) + "/delete").status == 409);
  CHECK(web.find(id)->state == JobState::kReserved);
}

TEST_CASE("job: what somebody holds is taken from them when that is asked for") {
  WebFixture web;
  const JobId id = web.push("Mail");
  const std::string path = "/api/v1/jobs/" + std::to_string(id);
  CHECK(web.fetch() == id);
  CHECK(web.post(path + "/retry", {{"state", "reserved"}}).status == 200);
  CHECK(web.find(id)->state == JobState::kReady);
  CHECK(web.fetch() == id);
  CHECK(web.post(path + "/kill", {{"state", "reserved"}}).status == 200);
  CHECK(web.find(id)->state == JobState::kDead);
  CHECK(web.post(path + "/retry", {{"state", "dead"}}).status == 200);
  CHECK(web.fetch() == id);
  CHECK(web.post(path + "/delete", {{"state", "held"}}).status == 400);
  CHECK(web.post(path + "/delete", {{"state", "reserved"}}).status == 200);
  CHECK(web.find(id) == nullptr);
}

TEST_CASE("jobs: of several the held ones are changed only when that is asked for") {
  WebFixture web;
  const JobId held = web.push("A");
  const JobId ready = web.push("B");
  CHECK(web.fetch() == held);
  Json body{{"action", "delete"}, {"ids", {held, ready}}};
  CHECK(web.post("/api/v1/jobs/change", body).body == R"({"changed":1,"gone":0,"refused":1})");
  body["state"] = "reserved";
  CHECK(web.post("/api/v1/jobs/change", body).body == R"({"changed":1,"gone":1,"refused":0})");
  CHECK(web.find(held) == nullptr);
}

TEST_CASE("jobs: those that have left the state in which they were seen are not meant") {
  WebFixture web;
  const JobId moved = web.put("a");
  const JobId seen = web.put("b");
  CHECK(web.post("/api/v1/jobs/" + std::to_string(moved) + "/kill").status == 200);
  const Json body{{"action", "delete"}, {"ids", {moved, seen}}, {"state", "ready"}};
  CHECK(web.post("/api/v1/jobs/change", body).body == R"({"changed":1,"gone":0,"refused":1})");
  const std::string path = "/api/v1/jobs/" + std::to_string(moved) + "/delete";
  const Response refused = web.post(path, {{"state", "ready"}});
  CHECK(refused.status == 409);
  CHECK(refused.body == R"({"error":"this job is dead now"})");
  CHECK(web.find(moved)->state == JobState::kDead);
  CHECK(web.post(path, {{"state", "dead"}}).status == 200);
}

TEST_CASE("jobs: several at once, with those that are gone or cannot be changed counted") {
  WebFixture web;
  const JobId dead = web.fail("A", "x", true);
  const JobId ready = web.push("B");
  const Response response =
      web.post("/api/v1/jobs/change", {{"action", "retry"}, {"ids", {dead, ready, 99}}});
  CHECK(response.body == R"({"changed":1,"gone":1,"refused":1})");
  CHECK(web.find(dead)->state == JobState::kReady);
}

TEST_CASE("jobs: as many ids as the limit are taken, and one more is refused") {
  WebFixture web;
  Json ids = Json::array();
  for (int i = 0; i < 1000; ++i) ids.push_back(i + 1);
  CHECK(web.post("/api/v1/jobs/change", {{"action", "delete"}, {"ids", ids}}).status == 200);
  ids.push_back(1001);
  CHECK(web.post("/api/v1/jobs/change", {{"action", "delete"}, {"ids", ids}}).status == 400);
  CHECK(web.post("/api/v1/jobs/change", {{"action", "boil"}, {"ids", {1}}}).status == 400);
}

TEST_CASE("push: a job without a jid is given one") {
  WebFixture web;
  const Response response =
      web.post("/api/v1/jobs", {{"jobtype", "Mail"}, {"args", {1}}, {"queue", "mail"}});
  CHECK(response.status == 201);
  const Json pushed = Json::parse(response.body);
  CHECK(pushed["jid"] == "web-0000000000000abc");
  CHECK(web.find(pushed["id"])->state == JobState::kReady);
}

TEST_CASE("push: a member that is there twice is refused, however it is written") {
  WebFixture web;
  const std::string begin =
      R"({"jobtype":"Mail","args":[1e400,{"a":":\",","queue":1}],"queue":"a")";
  CHECK(push_text(web, begin + "}").status == 201);
  CHECK(push_text(web, begin + R"(,"custom":{"queue":1,"queue":2}})").status == 201);
  for (const char* name : {"queue", "Queue", "que\\u0075e"}) {
    const Response response = push_text(web, concat(begin, ",\"", name, "\":\"b\"}"));
    CHECK_MESSAGE(response.status == 400, name);
    CHECK(response.body == R"({"error":"the body has a member twice"})");
  }
  CHECK(push_text(web, R"([{"jobtype":"Mail"}])").status == 400);
  CHECK(push_text(web, R"({"jobtype":"Mail","jobtype":)").status == 400);
}

TEST_CASE("push: a job that has expired is taken, also while a worker waits for one") {
  WebFixture web;
  web.wait("low");
  const Response response =
      push_text(web, R"({"jobtype":"Mail","queue":"low","args":[],"custom":{"expires_in":0}})");
  CHECK(response.status == 201);
  CHECK(Json::parse(response.body)["state"] == "ready");
}

TEST_CASE("push: what PUSH would refuse is refused in the same words") {
  WebFixture web;
  const Response response = web.post("/api/v1/jobs", {{"args", {1}}});
  CHECK(response.status == 400);
  CHECK(response.body == R"({"error":"jobs must have a jobtype parameter"})");
}

TEST_CASE("push: a job is checked without being pushed, however long it is") {
  WebFixture web;
  for (const std::size_t bytes : {1, 100'000}) {
    Json job{{"jobtype", "Mail"}, {"args", {std::string(bytes, 'a')}}};
    CHECK(push_text(web, job.dump(), "/api/v1/jobs/check").body == R"({"is_valid":true})");
    job["queue"] = "bad name";
    const Response response = push_text(web, job.dump(), "/api/v1/jobs/check");
    CHECK(response.status == 400);
    CHECK(response.body == push_text(web, job.dump()).body);
  }
  CHECK(web.broker.view().orders().count(JobState::kReady) == 0);
  CHECK(web.read("/api/v1/activity")["changes"].empty());
}

TEST_CASE("push: bytes that are not UTF-8 are refused, and not replaced") {
  WebFixture web;
  const std::string job = "{\"jobtype\":\"T\",\"args\":[\"caf\xe9\"]}";
  for (const char* const path : {"/api/v1/jobs", "/api/v1/jobs/check"}) {
    const Response response = push_text(web, job, path);
    CHECK(response.status == 400);
    CHECK(response.body == R"({"error":"the job is not valid UTF-8"})");
  }
  CHECK(web.broker.view().orders().count(JobState::kReady) == 0);
}

TEST_CASE("push: a check refuses a priority that a push would ignore") {
  WebFixture web;
  const auto check = [&web](const std::string& member) {
    const std::string job = R"({"jobtype":"Mail","args":[],)" + member + "}";
    return push_text(web, job, "/api/v1/jobs/check").body;
  };
  for (const char* const right : {R"("priority":9)", R"("PRIORITY":1)", R"("priority":null)",
                                  R"("custom":{"priority":77})"}) {
    CHECK_MESSAGE(check(right) == R"({"is_valid":true})", right);
  }
  for (const char* const wrong : {"77", "0", "-1", "5.5", "\"7\"", "1e400", "{}"}) {
    for (const char* const name : {R"("priority":)", R"("pri\u006frity":)", R"("Priority":)"}) {
      CHECK_MESSAGE(check(std::string(name) + wrong) ==
                        R"({"error":"priority must be from 1 to 9; 9 comes first"})",
                    name, wrong);
    }
  }
  CHECK(push_text(web, R"({"jobtype":"Mail","args":[],"priority":77})").status == 201);
}

TEST_CASE("push: a duplicate is a conflict, as it is when a cron entry is run") {
  WebFixture web;
  Json job{{"jobtype", "Mail"}, {"args", {1}}, {"custom", {{"unique_for", 60}}}};
  CHECK(web.post("/api/v1/jobs", job).status == 201);
  job["jid"] = "another-one";
  const Response response = web.post("/api/v1/jobs", job);
  CHECK(response.status == 409);
  CHECK(response.body == R"({"error":"NOTUNIQUE Job not unique","code":"not_unique"})");
}

TEST_CASE("changes: a dead job whose lock another one holds stays, and says so") {
  WebFixture web;
  Json job{{"jobtype", "Mail"}, {"args", {1}}, {"custom", {{"unique_for", 60}}}};
  REQUIRE(web.post("/api/v1/jobs", job).status == 201);
  REQUIRE(web.post("/api/v1/jobs/1/kill", Json::object()).status == 200);
  job["jid"] = "another-one";
  REQUIRE(web.post("/api/v1/jobs", job).status == 201);
  const Response response = web.post("/api/v1/jobs/1/retry", Json::object());
  CHECK(response.status == 409);
  CHECK(Json::parse(response.body)["code"] == "not_unique");
  CHECK(web.read("/api/v1/jobs/1")["state"] == "dead");
  const Json several =
      Json::parse(web.post("/api/v1/jobs/change", {{"action", "retry"}, {"ids", {1}}}).body);
  CHECK(several["refused"] == 1);
}

TEST_CASE("push: without room, and while the server stops, the job may be sent again") {
  WebFixture web;
  const Json job{{"jobtype", "Mail"}, {"args", {1}}};
  web.broker.set_admission(Admission::kNoJobs);
  CHECK(web.post("/api/v1/jobs", job).status == 503);
  web.broker.set_admission(Admission::kEverything);
  CHECK(web.post("/api/v1/jobs", job).status == 201);
  web.service.drain();
  const Response stopping = web.post("/api/v1/jobs", job);
  CHECK(stopping.status == 503);
  CHECK(stopping.body == R"({"error":"shutdown in progress"})");
}

TEST_CASE("push: a long job is like any other, and is read outside of the broker's thread") {
  WebFixture web;
  const auto json_of = [](std::size_t bytes) {
    return R"({ "jobtype":"Mail","args":["\u00e9)" + std::string(bytes, 'x') + R"("],"queue":"q"})";
  };
  const Response response = push_text(web, json_of(kLongPushBytes));
  CHECK(response.status == 201);
  CHECK(response.is_change);
  CHECK(web.turns == 2);
  const Json pushed = Json::parse(response.body);
  CHECK(pushed["jid"] == "web-0000000000000abc");
  CHECK(pushed["state"] == "ready");
  const std::string body = web.get("/api/v1/jobs/" + pushed["id"].dump() + "/body").body;
  CHECK(body.find(R"("args":["\u00e9)" + std::string(kLongPushBytes, 'x') + R"("])") !=
        std::string::npos);
  CHECK(push_text(web, json_of(1)).status == 201);
  CHECK(web.turns == 1);
}

TEST_CASE("push: a long job that PUSH would refuse is refused in the same words") {
  WebFixture web;
  const std::string args = R"("args":[")" + std::string(kLongPushBytes, 'x') + R"("])";
  const Response no_type = push_text(web, "{" + args + "}");
  CHECK(no_type.status == 400);
  CHECK(no_type.body == R"({"error":"jobs must have a jobtype parameter"})");
  for (const char* const end : {"", "}}", ",}", R"(,"jobtype":1})", R"(,"args":[]})"}) {
    CAPTURE(end);
    CHECK(push_text(web, "{" + args + end).status == 400);
  }
  CHECK(push_text(web, "[" + std::string(kLongPushBytes, ' ') + "]").status == 400);
  CHECK(web.broker.view().orders().count(JobState::kReady) == 0);
}

}  // namespace millrace::http
