#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("jobs: a list shows what is in a state, in order") {
  WebFixture web;
  const JobId first = web.push("Mail");
  const JobId second = web.put("bytes");
  const Json page = web.read("/api/v1/jobs?state=ready");
  REQUIRE(page["jobs"].size() == 2);
  CHECK(page["jobs"][0]["id"] == second);  // pri 0 is before pri 1024
  CHECK(page["jobs"][1]["id"] == first);
  CHECK(page["jobs"][1]["type"] == "Mail");
  CHECK(page["jobs"][1]["args"] == R"([1,"two"])");
  CHECK(page["next"] == nullptr);
}

TEST_CASE("jobs: long arguments are cut between characters") {
  WebFixture web;
  std::string text = "x";
  for (int i = 0; i < 200; ++i) text += "ë";
  web.put(text);
  const Json job = web.read("/api/v1/jobs?state=ready")["jobs"][0];
  CHECK(job["is_cut"] == true);
  CHECK(job["args"].get<std::string>().find('\\') == std::string::npos);
  CHECK(job["args"].get<std::string>().ends_with("ë"));
}

TEST_CASE("jobs: a cursor continues where the page before ended, whatever came or went meanwhile") {
  WebFixture web;
  const JobId first = web.push("A");
  const JobId second = web.push("B");
  const Json page = web.read("/api/v1/jobs?state=ready&queue=default&limit=1");
  CHECK(page["jobs"][0]["id"] == first);
  CHECK(web.broker.admin().change(first, Mutation::Action::kDiscard, web.now));
  const Json next = web.read("/api/v1/jobs?state=ready&queue=default&limit=1&cursor=" +
                             page["next"].get<std::string>());
  CHECK(next["jobs"][0]["id"] == second);
}

TEST_CASE("jobs: ready jobs of all queues are paged queue by queue") {
  WebFixture web;
  web.push("A", "one");
  web.push("B", "two");
  Json page = web.read("/api/v1/jobs?limit=1");
  page = web.read("/api/v1/jobs?limit=1&cursor=" + page["next"].get<std::string>());
  CHECK(page["jobs"][0]["type"] == "B");
}

TEST_CASE("jobs: ready jobs of all queues are paged backwards when asked for") {
  WebFixture web;
  for (const char* type : {"A", "B"}) {
    web.push(type, "one");
    web.push(type, "two");
  }
  std::string order;
  std::string cursor;
  for (int rows = 0; rows < 4; ++rows) {
    const Json page = web.read("/api/v1/jobs?order=desc&limit=1" + cursor);
    const Json& job = page["jobs"].at(0);
    order += concat(job["queue"].get<std::string>(), job["type"].get<std::string>(), " ");
    cursor = "&cursor=" + page["next"].get<std::string>();
  }
  CHECK(order == "twoB twoA oneB oneA ");
  CHECK(web.read("/api/v1/jobs?order=desc" + cursor)["jobs"].empty());
}

TEST_CASE("jobs: the latest of the dead come first when asked for") {
  WebFixture web;
  web.fail("A", "x", true);
  const JobId later = web.fail("B", "x", true);
  CHECK(web.read("/api/v1/jobs?state=dead&order=desc")["jobs"][0]["id"] == later);
}

TEST_CASE("jobs: one request looks at no more than a slice, and says where to go on") {
  WebFixture web;
  for (int i = 0; i < 2502; ++i) web.put("x");
  const Json slice = web.read("/api/v1/jobs/count?type=Nothing");
  CHECK(slice["looked_at"] == 2500);
  const Json rest =
      web.read("/api/v1/jobs/count?type=Nothing&cursor=" + slice["next"].get<std::string>());
  CHECK(rest["next"] == nullptr);
}

TEST_CASE("jobs: a search for a jid looks at more jobs at a time") {
  WebFixture web;
  for (int i = 0; i < 6'001; ++i) web.put("x");
  const Json slice = web.read("/api/v1/jobs/count?id=nobody");
  CHECK(slice["looked_at"] == 6'000);
  CHECK(slice["next"] != nullptr);
}

TEST_CASE("jobs: what makes no sense is refused with a line that says why") {
  WebFixture web;
  CHECK(web.get("/api/v1/jobs?state=lost").status == 400);
  CHECK(web.get("/api/v1/jobs?limit=201").status == 400);
  CHECK(web.get("/api/v1/jobs?limit=200").status == 200);
  CHECK(web.get("/api/v1/jobs?cursor=abc").status == 400);
  CHECK(web.get("/api/v1/jobs?older_than_s=soon").status == 400);
  const Json error = Json::parse(web.get("/api/v1/jobs?order=up").body);
  CHECK(error["error"] == "order is not asc or desc");
}

TEST_CASE("job: one that has gone is said to be gone") {
  WebFixture web;
  const Response response = web.get("/api/v1/jobs/77");
  CHECK(response.status == 404);
  CHECK(response.body == R"({"error":"there is no such job"})");
  CHECK(web.post("/api/v1/jobs/77/retry").status == 404);
}

TEST_CASE("job: what is no number is said to be none") {
  WebFixture web;
  for (const char* path : {"abc", "abc/body", "-1", "99999999999999999999"}) {
    const Response response = web.get(concat("/api/v1/jobs/", path));
    CHECK(response.status == 400);
    CHECK(response.body == R"({"error":"that is not a job number"})");
  }
  CHECK(web.post("/api/v1/jobs/abc/retry").status == 400);
}

TEST_CASE("job: a long body is copied outside of the broker's thread, though the job is gone") {
  WebFixture web;
  const std::string body(2 * WorkUnitFormat::kLongBodyBytes, 'x');
  const std::string more = R"(,"custom":{"a":")" + body + R"("})";
  for (const JobId id : {web.put(body), web.push("Mail", "default", more)}) {
    std::string expected = body;
    if (web.find(id)->kind == JobKind::kWorkUnit) {
      expected.clear();
      web.format.render(*web.find(id), "default", {}, expected);
    }
    const Response response =
        web.ask(request_of("GET", "/api/v1/jobs/" + std::to_string(id) + "/body"));
    CHECK(response.body.empty());
    CHECK(web.broker.admin().change(id, Mutation::Action::kDiscard, web.now));
    REQUIRE(response.write_body);
    CHECK((response.write_body() == expected));
  }
}

TEST_CASE("jobs: a count can be broken down by queue and type") {
  WebFixture web;
  for (int i = 0; i < 3; ++i) web.push("Mail", "mail");
  web.push("Sync", "mail");
  web.put("plain", "tube");
  const Json count = web.read("/api/v1/jobs/count?breakdown=1");
  CHECK(count["matched"] == 5);
  CHECK(count["next"] == nullptr);
  CHECK(count["queues"] == Json::parse(R"([{"name":"mail","jobs":4},{"name":"tube","jobs":1}])"));
  REQUIRE(count["types"].size() == 3);
  CHECK(count["types"][0] == Json::parse(R"({"name":"Mail","jobs":3})"));
  const Json filtered = web.read("/api/v1/jobs/count?breakdown=1&type=Sync");
  CHECK(filtered["queues"] == Json::parse(R"([{"name":"mail","jobs":1}])"));
  CHECK_FALSE(web.read("/api/v1/jobs/count").contains("queues"));
  CHECK(web.get("/api/v1/jobs/count?breakdown=yes").status == 400);
}

TEST_CASE("jobs: a breakdown names the most frequent queues") {
  WebFixture web;
  for (int i = 0; i < 60; ++i) web.push("Mail", "mail-" + std::to_string(i));
  web.push("Mail", "mail-59");
  const Json count = web.read("/api/v1/jobs/count?breakdown=1");
  REQUIRE(count["queues"].size() == 50);
  CHECK(count["queues"][0] == Json::parse(R"({"name":"mail-59","jobs":2})"));
}

}  // namespace millrace::http
