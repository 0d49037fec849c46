#include <set>
#include <string>

#include "http/asking.hpp"
#include "http/kit/text.hpp"
#include "http/routes/queue_view.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("queues: what came after the queue was looked at is neither cleared nor deleted") {
  WebFixture web;
  const std::string path = "/api/v1/queues/mail";
  for (const char* change : {"/clear", "/delete"}) {
    const JobId seen = web.put("x", "mail");
    const std::string as_of = as_of_now(web);
    const JobId late = web.put("x", "mail");
    CHECK(web.post(path + change, {{"as_of", as_of}}).status == 202);
    web.settle();
    CHECK(web.find(seen) == nullptr);
    REQUIRE(web.find(late) != nullptr);
    CHECK(web.post("/api/v1/jobs/" + std::to_string(late) + "/delete").status == 200);
  }
}

TEST_CASE("queues: one that is deleted stays paused while there are jobs in it") {
  WebFixture web;
  web.put("x", "mail");
  CHECK(web.post("/api/v1/queues/mail/pause").status == 200);
  const std::string as_of = as_of_now(web);
  const JobId late = web.put("x", "mail");
  CHECK(web.post("/api/v1/queues/mail/delete", {{"as_of", as_of}}).status == 202);
  web.settle();
  CHECK(web.read("/api/v1/queues/mail")["is_paused"] == true);
  CHECK(web.post("/api/v1/jobs/" + std::to_string(late) + "/delete").status == 200);
  CHECK(web.post("/api/v1/queues/mail/delete").status == 202);
  web.settle();
  CHECK(web.get("/api/v1/queues/mail").status == 404);
}

TEST_CASE("queues: pause, resume, and a pause that ends") {
  WebFixture web;
  web.push("Mail", "mail");
  CHECK(web.post("/api/v1/queues/mail/pause").status == 200);
  CHECK(web.read("/api/v1/queues/mail")["is_paused"] == true);
  CHECK(web.post("/api/v1/queues/mail/resume").status == 200);
  CHECK(web.read("/api/v1/queues/mail")["is_paused"] == false);
  CHECK(web.post("/api/v1/queues/mail/pause", {{"seconds", 60}}).status == 200);
  CHECK(web.read("/api/v1/queues/mail")["paused_until"] == "2023-11-14T22:14:20.000Z");
  CHECK(web.post("/api/v1/queues/mail/pause", {{"seconds", 0}}).status == 400);
  CHECK(web.post("/api/v1/queues/mail/pause", {{"second", 60}}).status == 400);
  CHECK(web.post("/api/v1/queues/mail/pause?seconds=60").status == 400);
  CHECK(web.post("/api/v1/queues/mail/resume", {{"seconds", 60}}).status == 400);
  CHECK(web.post("/api/v1/queues/nobody/pause").status == 404);
}

TEST_CASE("queues: clear takes the ready jobs, delete all but the reserved ones") {
  WebFixture web;
  web.fail("B", "x");
  web.push("C", "failing");
  CHECK(web.post("/api/v1/queues/failing/clear").status == 202);
  web.settle();
  CHECK(web.read("/api/v1/queues/failing")["ready"] == 0);
  CHECK(web.read("/api/v1/queues/failing")["retrying"] == 1);
  CHECK(web.post("/api/v1/queues/failing/delete").status == 202);
  web.settle();
  CHECK(web.get("/api/v1/queues/failing").status == 404);
}

TEST_CASE("queues: sorted by any column, paged by cursor, filtered by name") {
  WebFixture web;
  web.push("A", "alpha");
  web.push("A", "beta");
  web.push("A", "beta");
  const Json page = web.read("/api/v1/queues?sort=ready&order=desc&limit=1");
  CHECK(page["queues"][0]["name"] == "beta");
  const Json next = web.read("/api/v1/queues?sort=ready&order=desc&limit=1&cursor=" +
                             page["next"].get<std::string>());
  CHECK(next["queues"][0]["name"] == "alpha");
  CHECK(web.read("/api/v1/queues?match=ALP")["queues"].size() == 1);
  CHECK(web.get("/api/v1/queues?sort=beauty").status == 400);
  CHECK(web.get("/api/v1/queues?order=descending").status == 400);
}

TEST_CASE("queues: a name may hold slashes") {
  WebFixture web;
  web.put("x", "a/b/pause");
  CHECK(web.read("/api/v1/queues/a/b/pause")["ready"] == 1);
  CHECK(web.post("/api/v1/queues/a/b/pause/pause").status == 200);
}

TEST_CASE("queues: those whose names are steps in a path go by others") {
  WebFixture web;
  web.put("x", ".");
  web.put("x", "..");
  CHECK(web.read("/api/v1/queues/%2E")["name"] == ".");
  CHECK(web.post("/api/v1/queues/%2E%2E/pause").status == 200);
  CHECK(web.read("/api/v1/queues/%2E%2E")["is_paused"] == true);
  CHECK(web.post("/api/v1/queues/%2E%2E/clear").status == 202);
  web.settle();
  CHECK(web.read("/api/v1/queues/%2E%2E")["ready"] == 0);
  CHECK(web.read("/api/v1/queues/%2E")["ready"] == 1);
}

TEST_CASE("queues: one request looks at no more than a slice, and says where to go on") {
  WebFixture web;
  for (int i = 0; i < 10'000; ++i) web.put("x", std::to_string(i));
  const Json slice = web.read("/api/v1/queues?limit=1");
  CHECK(slice["total"] == 10'001);  // with `default`
  CHECK(slice["queues"][0]["name"] == "0");
  CHECK(slice["next"] == slice["queues"][0]["place"]);
  const std::string from = slice["from"];
  const Json rest = web.read("/api/v1/queues?limit=1&from=" + from);
  CHECK(rest["queues"].size() == 1);
  CHECK(rest["from"] == nullptr);
  CHECK(web.get("/api/v1/queues?from=there").status == 400);
}

TEST_CASE("queues: those to which nothing happens keep their places between two pages") {
  WebFixture web;
  for (int i = 0; i < 20; ++i) {
    web.put("x", std::to_string(100 + i));
    web.now += 7ms;
  }
  for (const char* const sort : {"oldest", "worst", "enqueued"}) {
    for (const char* const order : {"asc", "desc"}) {
      std::set<std::string> seen;
      std::string cursor;
      do {
        const Json page =
            web.read(concat("/api/v1/queues?limit=3&sort=", sort, "&order=", order, cursor));
        for (const Json& each : page["queues"]) CHECK(seen.insert(each["name"]).second);
        cursor = page["next"].is_null() ? "" : concat("&cursor=", std::string(page["next"]));
        web.now += 3s;
      } while (!cursor.empty());
      CHECK(seen.size() == 21);
    }
  }
}

TEST_CASE("queues: a cursor or a slice that no list gave is refused") {
  WebFixture web;
  for (const char* const wrong : {"@1:a", "1@:a", "1@-1:a", "x@1:a", "1@1", "nan@1:a", "inf:a"}) {
    CHECK(web.get(concat("/api/v1/queues?cursor=", wrong)).status == 400);
  }
  for (const char* const wrong : {"@1", "1@", "1@-1", "x@1", "x"}) {
    CHECK(web.get(concat("/api/v1/queues?from=", wrong)).status == 400);
  }
  // As of a time that is still to come: as of now.
  const std::string latest = std::to_string(UINT64_MAX);
  CHECK(web.get(concat("/api/v1/queues?sort=oldest&cursor=1@", latest, ":a")).status == 200);
}

TEST_CASE("queues: a list that shows no ages has the same text later on") {
  WebFixture web;
  web.put("x", "a");
  const std::string before = web.get("/api/v1/queues").body;
  web.now += 1ms;
  CHECK(web.get("/api/v1/queues").body == before);
}

TEST_CASE("queues: a list is made in turns of some queues and some rows") {
  WebFixture web;
  for (int i = 0; i < 5'000; ++i) web.put("x", std::to_string(100'000 - i));
  const Json page = web.read("/api/v1/queues?match=100000&sort=name&limit=50");
  // Three look at 2,500 queues each, `default` among them, and the last one shows the row.
  CHECK(web.turns == 4);
  REQUIRE(page["queues"].size() == 1);
  CHECK(page["next"] == nullptr);
  const Json more = web.read("/api/v1/queues?match=9&limit=50");
  CHECK(web.turns == 6);
  REQUIRE(more["queues"].size() == 50);
  CHECK(more["queues"][0]["name"] == "95001");
  CHECK(more["queues"][49]["name"] == "95050");
  CHECK(more["next"] == more["queues"][49]["place"]);
}

TEST_CASE("queues: one that is gone before it is shown is left out") {
  WebFixture web;
  for (int i = 0; i < 30; ++i) web.put("x", std::to_string(100 + i));
  Response part = web.ask(request_of("GET", "/api/v1/queues?match=1"));
  CHECK(web.post("/api/v1/queues/101/delete").status == 202);
  web.settle();
  while (part.go_on) part = part.go_on(web.now);
  const Json page = Json::parse(part.write_body());
  REQUIRE(page["queues"].size() == 29);
  CHECK(page["queues"][1]["name"] == "102");
}

TEST_CASE("queues: the worst are those that nobody serves, then those that fail, then the slow") {
  WebFixture web;
  web.put("x", "abandoned");
  web.now += kAbandonedAfter;
  web.put("x", "slow");
  web.now += 5s;
  web.put("x", "quick");
  web.fail("Sync", "no");
  web.put("x", "abandoned");
  std::string order;
  const Json page = web.read("/api/v1/queues?sort=worst&order=desc");
  for (const Json& each : page["queues"]) order += each["name"].get<std::string>() + " ";
  CHECK(order == "abandoned failing slow quick default ");
}

TEST_CASE("queues: the totals are those of all queues, and the recent past is told if asked for") {
  WebFixture web;
  web.put("x", "a");
  web.put("x", "b");
  const Json page = web.read("/api/v1/queues?match=a");
  CHECK(page["totals"]["ready"] == 2);
  CHECK(page["totals"]["processed_per_s"] == 0);
  CHECK_FALSE(page["queues"][0].contains("recent"));
  CHECK(web.read("/api/v1/queues?match=a&recent=1")["queues"][0]["recent"].is_null());
  for (int i = 0; i < 100; ++i, web.now += 1ms) web.series.work(web.broker, web.now);
  const Json recent = web.read("/api/v1/queues?match=a&recent=1")["queues"][0]["recent"];
  CHECK(recent.size() == 30);
  CHECK(web.get("/api/v1/queues?recent=yes").status == 400);
}

}  // namespace millrace::http
