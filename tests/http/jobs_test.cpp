#include "http/desk.hpp"
#include "http/kit/text.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("jobs: a list shows what is in a state, in order") {
  Desk desk;
  const JobId first = desk.push("Mail");
  const JobId second = desk.put("bytes");
  const Json page = desk.read("/api/v1/jobs?state=ready");
  REQUIRE(page["jobs"].size() == 2);
  CHECK(page["jobs"][0]["id"] == second);  // pri 0 goes before pri 1024
  CHECK(page["jobs"][1]["id"] == first);
  CHECK(page["jobs"][1]["type"] == "Mail");
  CHECK(page["jobs"][1]["args"] == R"([1,"two"])");
  CHECK(page["next"] == nullptr);
}

TEST_CASE("jobs: a cursor goes on where the page before ended, whatever came or went meanwhile") {
  Desk desk;
  const JobId first = desk.push("A");
  const JobId second = desk.push("B");
  const Json page = desk.read("/api/v1/jobs?state=ready&queue=default&limit=1");
  CHECK(page["jobs"][0]["id"] == first);
  CHECK(desk.broker.admin().change(first, Mutation::Action::kDiscard, desk.now));
  const Json next = desk.read("/api/v1/jobs?state=ready&queue=default&limit=1&cursor=" +
                              page["next"].get<std::string>());
  CHECK(next["jobs"][0]["id"] == second);
}

TEST_CASE("jobs: ready jobs of all queues are paged queue by queue") {
  Desk desk;
  desk.push("A", "one");
  desk.push("B", "two");
  Json page = desk.read("/api/v1/jobs?limit=1");
  page = desk.read("/api/v1/jobs?limit=1&cursor=" + page["next"].get<std::string>());
  CHECK(page["jobs"][0]["type"] == "B");
}

TEST_CASE("jobs: ready jobs of all queues are paged backwards when asked for") {
  Desk desk;
  for (const char* type : {"A", "B"}) {
    desk.push(type, "one");
    desk.push(type, "two");
  }
  std::string order;
  std::string cursor;
  for (int rows = 0; rows < 4; ++rows) {
    const Json page = desk.read("/api/v1/jobs?order=desc&limit=1" + cursor);
    const Json& job = page["jobs"].at(0);
    order += concat(job["queue"].get<std::string>(), job["type"].get<std::string>(), " ");
    cursor = "&cursor=" + page["next"].get<std::string>();
  }
  CHECK(order == "twoB twoA oneB oneA ");
  CHECK(desk.read("/api/v1/jobs?order=desc" + cursor)["jobs"].empty());
}

TEST_CASE("jobs: the latest of the dead come first when asked for") {
  Desk desk;
  desk.fail("A", "x", true);
  const JobId later = desk.fail("B", "x", true);
  CHECK(desk.read("/api/v1/jobs?state=dead&order=desc")["jobs"][0]["id"] == later);
}

TEST_CASE("jobs: filters by type, its beginning, jid, error and text") {
  Desk desk;
  desk.push("SendMail");
  desk.push("Other", "default", R"(,"custom":{"needle":1})");
  desk.fail("Failing", "connection RESET by peer");
  const auto count = [&](const std::string& filter) {
    return desk.read("/api/v1/jobs?" + filter)["jobs"].size();
  };
  CHECK(count("type=SendMail") == 1);
  CHECK(count("type=Send") == 0);
  CHECK(count("type=Send*") == 1);
  CHECK(count("id=job-1001") == 1);
  CHECK(count("id=2") == 1);
  CHECK(count("text=needle") == 1);
  CHECK(count("state=retrying&error=reset") == 1);
  CHECK(count("state=retrying&error=refused") == 0);
}

TEST_CASE("jobs: a parameter that nobody knows, or that is there twice, is refused") {
  Desk desk;
  const Response refused = desk.get("/api/v1/jobs/count?state=ready&quue=nosuch");
  CHECK(refused.status == 400);
  CHECK(refused.body == R"({"error":"no such parameter: quue"})");
  CHECK(desk.get("/api/v1/jobs?state=ready&state=dead").status == 400);
  CHECK(desk.get("/api/v1/jobs/1?states=dead").status == 400);
  CHECK(desk.get("/health?probe=1").status == 200);
}

TEST_CASE("jobs: a parameter that says nothing is refused, but for a cursor") {
  Desk desk;
  for (const char* name : {"limit", "order", "state", "queue", "older_than_s"}) {
    const Response refused = desk.get(concat("/api/v1/jobs?", name, "="));
    CHECK(refused.status == 400);
    CHECK(refused.body == concat(R"({"error":")", name, R"( is empty: leave it out"})"));
  }
  CHECK(desk.get("/api/v1/jobs?cursor=").status == 200);
  CHECK(desk.get("/api/v1/queues?sort=").status == 400);
}

TEST_CASE("jobs: an age filter leaves out what is younger") {
  Desk desk;
  desk.push("Old");
  desk.now += 10min;
  desk.push("New");
  const Json page = desk.read("/api/v1/jobs?older_than_s=300");
  REQUIRE(page["jobs"].size() == 1);
  CHECK(page["jobs"][0]["type"] == "Old");
}

TEST_CASE("jobs: one request looks at no more than a slice, and says where to go on") {
  Desk desk;
  for (int i = 0; i < 2502; ++i) desk.put("x");
  const Json slice = desk.read("/api/v1/jobs/count?type=Nothing");
  CHECK(slice["looked_at"] == 2500);
  const Json rest =
      desk.read("/api/v1/jobs/count?type=Nothing&cursor=" + slice["next"].get<std::string>());
  CHECK(rest["next"] == nullptr);
}

TEST_CASE("jobs: a search for a jid looks at more jobs at a time") {
  Desk desk;
  for (int i = 0; i < 6'001; ++i) desk.put("x");
  const Json slice = desk.read("/api/v1/jobs/count?id=nobody");
  CHECK(slice["looked_at"] == 6'000);
  CHECK(slice["next"] != nullptr);
}

TEST_CASE("jobs: what makes no sense is refused with a line that says why") {
  Desk desk;
  CHECK(desk.get("/api/v1/jobs?state=lost").status == 400);
  CHECK(desk.get("/api/v1/jobs?limit=201").status == 400);
  CHECK(desk.get("/api/v1/jobs?limit=200").status == 200);
  CHECK(desk.get("/api/v1/jobs?cursor=abc").status == 400);
  CHECK(desk.get("/api/v1/jobs?older_than_s=soon").status == 400);
  const Json error = Json::parse(desk.get("/api/v1/jobs?order=up").body);
  CHECK(error["error"] == "order is not asc or desc");
}

TEST_CASE("job: the whole story of a failed one") {
  Desk desk;
  const JobId id = desk.fail("Mail", "no route");
  const Json job = desk.read("/api/v1/jobs/" + std::to_string(id));
  CHECK(job["state"] == "retrying");
  CHECK(job["error"]["message"] == "no route");
  CHECK(job["error"]["backtrace"] == Json{"a:1"});
  CHECK(job["error"]["retries_left"] == 25);
  CHECK(job["work_unit"]["args"] == Json{1, "two"});
  CHECK(job["tallies"]["reserves"] == 1);
}

TEST_CASE("job: numbers of a pushed one are given as they were written") {
  Desk desk;
  const JobId id = desk.push("Mail", "default", R"(,"custom":{"n":[18446744073709551617,1e400]})");
  const std::string job = desk.get("/api/v1/jobs/" + std::to_string(id)).body;
  CHECK(job.find(R"("custom":{"n":[18446744073709551617,1e400]})") != std::string::npos);
}

TEST_CASE("job: the bytes of a pushed one are what a worker gets") {
  Desk desk;
  const JobId id = desk.push("Mail");
  const std::string path = "/api/v1/jobs/" + std::to_string(id);
  const std::string body = desk.get(path + "/body").body;
  CHECK(desk.read(path)["body"]["text"] == body);
  CHECK(desk.read(path)["body_bytes"] == body.size());
}

TEST_CASE("job: bytes that are no text are shown in base64") {
  Desk desk;
  const JobId id = desk.put(std::string("\xff\x00\x01", 3));
  const Json job = desk.read("/api/v1/jobs/" + std::to_string(id));
  CHECK(job["body"]["base64"] == "/wAB");
  CHECK(job["body"]["text"] == nullptr);
}

TEST_CASE("job: of a long body only the beginning is shown") {
  Desk desk;
  const JobId id = desk.put(std::string(300'000, 'x'));
  const Json job = desk.read("/api/v1/jobs/" + std::to_string(id));
  CHECK(job["body"]["is_cut"] == true);
  CHECK(job["body"]["text"].get<std::string>().size() == 256 * 1024);
  CHECK(desk.get("/api/v1/jobs/" + std::to_string(id) + "/body").body.size() == 300'000);
}

TEST_CASE("job: of a long pushed job the beginning of its JSON is shown") {
  Desk desk;
  const JobId id =
      desk.push("Mail", "default", concat(R"(,"custom":{"x":")", std::string(500'000, 'x'), "\"}"));
  const Json job = desk.read(concat("/api/v1/jobs/", id));
  CHECK(job["work_unit"] == nullptr);
  CHECK(job["body"]["is_cut"] == true);
  CHECK(job["body_bytes"] == desk.get(concat("/api/v1/jobs/", id, "/body")).body.size());
  CHECK(job["body"]["text"].get<std::string>().size() == 256 * 1024);
}

TEST_CASE("job: a long body without any beginning of a character is shown in base64") {
  Desk desk;
  const JobId id = desk.put(std::string(300'000, '\x80'));
  const Json job = desk.read(concat("/api/v1/jobs/", id));
  CHECK(job["body"]["is_text"] == false);
  CHECK(job["body"]["base64"].get<std::string>().starts_with("gICA"));
}

TEST_CASE("job: one that has gone is said to be gone") {
  Desk desk;
  const Response response = desk.get("/api/v1/jobs/77");
  CHECK(response.status == 404);
  CHECK(response.body == R"({"error":"this job is gone: it was finished or deleted"})");
  CHECK(desk.post("/api/v1/jobs/77/retry").status == 404);
}

TEST_CASE("job: what is no number is said to be none") {
  Desk desk;
  for (const char* path : {"abc", "abc/body", "-1", "99999999999999999999"}) {
    const Response response = desk.get(concat("/api/v1/jobs/", path));
    CHECK(response.status == 400);
    CHECK(response.body == R"({"error":"that is no job's number"})");
  }
  CHECK(desk.post("/api/v1/jobs/abc/retry").status == 400);
}

TEST_CASE("job: retry, kill and delete") {
  Desk desk;
  const JobId id = desk.fail("Mail", "no route");
  const std::string path = "/api/v1/jobs/" + std::to_string(id);
  const Response retried = desk.post(path + "/retry");
  CHECK(retried.is_change);
  CHECK(desk.find(id)->state == JobState::kReady);
  CHECK(desk.post(path + "/retry").status == 409);
  CHECK(desk.post(path + "/kill").status == 200);
  CHECK(desk.find(id)->state == JobState::kDead);
  CHECK(desk.post(path + "/delete").status == 200);
  CHECK(desk.find(id) == nullptr);
}

TEST_CASE("job: what somebody holds is left alone") {
  Desk desk;
  const JobId id = desk.push("Mail");
  CHECK(desk.fetch() == id);
  CHECK(desk.post("/api/v1/jobs/" + std::to_string(id) + "/delete").status == 409);
  CHECK(desk.find(id)->state == JobState::kReserved);
}

TEST_CASE("job: what somebody holds is taken from them when that is asked for") {
  Desk desk;
  const JobId id = desk.push("Mail");
  const std::string path = "/api/v1/jobs/" + std::to_string(id);
  CHECK(desk.fetch() == id);
  CHECK(desk.post(path + "/retry", {{"state", "reserved"}}).status == 200);
  CHECK(desk.find(id)->state == JobState::kReady);
  CHECK(desk.fetch() == id);
  CHECK(desk.post(path + "/kill", {{"state", "reserved"}}).status == 200);
  CHECK(desk.find(id)->state == JobState::kDead);
  CHECK(desk.post(path + "/retry", {{"state", "dead"}}).status == 200);
  CHECK(desk.fetch() == id);
  CHECK(desk.post(path + "/delete", {{"state", "held"}}).status == 400);
  CHECK(desk.post(path + "/delete", {{"state", "reserved"}}).status == 200);
  CHECK(desk.find(id) == nullptr);
}

TEST_CASE("jobs: of several the held ones are changed only when that is asked for") {
  Desk desk;
  const JobId held = desk.push("A");
  const JobId ready = desk.push("B");
  CHECK(desk.fetch() == held);
  Json body{{"action", "delete"}, {"ids", {held, ready}}};
  CHECK(desk.post("/api/v1/jobs/change", body).body == R"({"changed":1,"gone":0,"refused":1})");
  body["state"] = "reserved";
  CHECK(desk.post("/api/v1/jobs/change", body).body == R"({"changed":1,"gone":1,"refused":0})");
  CHECK(desk.find(held) == nullptr);
}

TEST_CASE("jobs: those that have left the state in which they were seen are not meant") {
  Desk desk;
  const JobId moved = desk.put("a");
  const JobId seen = desk.put("b");
  CHECK(desk.post("/api/v1/jobs/" + std::to_string(moved) + "/kill").status == 200);
  const Json body{{"action", "delete"}, {"ids", {moved, seen}}, {"state", "ready"}};
  CHECK(desk.post("/api/v1/jobs/change", body).body == R"({"changed":1,"gone":0,"refused":1})");
  const std::string path = "/api/v1/jobs/" + std::to_string(moved) + "/delete";
  const Response refused = desk.post(path, {{"state", "ready"}});
  CHECK(refused.status == 409);
  CHECK(refused.body == R"({"error":"this job is dead now"})");
  CHECK(desk.find(moved)->state == JobState::kDead);
  CHECK(desk.post(path, {{"state", "dead"}}).status == 200);
}

TEST_CASE("jobs: several at once, with those that are gone or cannot be changed counted") {
  Desk desk;
  const JobId dead = desk.fail("A", "x", true);
  const JobId ready = desk.push("B");
  const Response response =
      desk.post("/api/v1/jobs/change", {{"action", "retry"}, {"ids", {dead, ready, 99}}});
  CHECK(response.body == R"({"changed":1,"gone":1,"refused":1})");
  CHECK(desk.find(dead)->state == JobState::kReady);
}

TEST_CASE("jobs: as many ids as the limit are taken, and one more is refused") {
  Desk desk;
  Json ids = Json::array();
  for (int i = 0; i < 1000; ++i) ids.push_back(i + 1);
  CHECK(desk.post("/api/v1/jobs/change", {{"action", "delete"}, {"ids", ids}}).status == 200);
  ids.push_back(1001);
  CHECK(desk.post("/api/v1/jobs/change", {{"action", "delete"}, {"ids", ids}}).status == 400);
  CHECK(desk.post("/api/v1/jobs/change", {{"action", "boil"}, {"ids", {1}}}).status == 400);
}

TEST_CASE("push: a job without a jid is given one") {
  Desk desk;
  const Response response =
      desk.post("/api/v1/jobs", {{"jobtype", "Mail"}, {"args", {1}}, {"queue", "mail"}});
  CHECK(response.status == 201);
  const Json pushed = Json::parse(response.body);
  CHECK(pushed["jid"] == "web-0000000000000abc");
  CHECK(desk.find(pushed["id"])->state == JobState::kReady);
}

namespace {

Response push_text(Desk& desk, const std::string& json) {
  Request request = request_of("POST", "/api/v1/jobs");
  request.body = json;
  return desk.ask(request);
}

}  // namespace

TEST_CASE("push: a member that is there twice is refused, however it is written") {
  Desk desk;
  const std::string begin =
      R"({"jobtype":"Mail","args":[1e400,{"a":":\",","queue":1}],"queue":"a")";
  CHECK(push_text(desk, begin + "}").status == 201);
  CHECK(push_text(desk, begin + R"(,"custom":{"queue":1,"queue":2}})").status == 201);
  for (const char* name : {"queue", "Queue", "que\\u0075e"}) {
    const Response response = push_text(desk, concat(begin, ",\"", name, "\":\"b\"}"));
    CHECK_MESSAGE(response.status == 400, name);
    CHECK(response.body == R"({"error":"the body has a member twice"})");
  }
  CHECK(push_text(desk, R"([{"jobtype":"Mail"}])").status == 400);
  CHECK(push_text(desk, R"({"jobtype":"Mail","jobtype":)").status == 400);
}

TEST_CASE("push: what PUSH would refuse is refused in the same words") {
  Desk desk;
  const Response response = desk.post("/api/v1/jobs", {{"args", {1}}});
  CHECK(response.status == 400);
  CHECK(response.body == R"({"error":"jobs must have a jobtype parameter"})");
}

TEST_CASE("jobs: a filter that no name or error can be is refused, but of a body all bytes are") {
  Desk desk;
  desk.put("\xff\x01");
  CHECK(desk.get("/api/v1/jobs?error=\xff").status == 400);
  CHECK(desk.get("/api/v1/jobs?queue=\xc3").status == 400);
  CHECK(desk.read("/api/v1/jobs?error=\xc3\xa9")["jobs"].empty());
  CHECK(desk.read("/api/v1/jobs?text=\xff")["jobs"].size() == 1);
}

TEST_CASE("text: an escape in an address has two digits") {
  CHECK_FALSE(has_broken_escape("/jobs?error=%C3%a9&text=5"));
  CHECK(has_broken_escape("/jobs?error=50%"));
  CHECK(has_broken_escape("/jobs?error=%f"));
  CHECK(has_broken_escape("/jobs?error=%41%zz"));
}

TEST_CASE("jobs: a filter that says nothing is refused") {
  Desk desk;
  desk.put("x");
  for (const char* path : {"/api/v1/jobs", "/api/v1/jobs/count"}) {
    for (const char* filter : {"queue=", "type=", "id=", "error=", "group=", "text=", "wid=",
                               "client=", "client=0", "older_than_s=", "older_than_s=0"}) {
      CHECK_MESSAGE(desk.get(concat(path, "?", filter)).status == 400, filter);
    }
  }
}

}  // namespace millrace::http
