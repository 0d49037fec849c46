#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

JobId push_unique(WebFixture& web, std::string_view type, std::string_view queue = "default",
                  std::string_view more = "") {
  return web.push(type, queue, concat(R"(,"custom":{"unique_for":600)", more, "}"));
}

}  // namespace

TEST_CASE("locks: without unique jobs the list is empty") {
  WebFixture web;
  web.push("Mail");
  CHECK(web.get("/api/v1/locks").body == R"({"locks":[],"total":0,"looked_at":0,"next":null})");
}

TEST_CASE("locks: each has its job, its key and its times") {
  WebFixture web;
  const JobId id = push_unique(web, "Sync", "syncs");
  const Json lock = web.read("/api/v1/locks")["locks"][0];
  CHECK(lock["key"].get<std::string>().size() == 32);
  CHECK(lock["job"] == id);
  CHECK(lock["jid"] == "job-1001");
  CHECK(lock["type"] == "Sync");
  CHECK(lock["queue"] == "syncs");
  CHECK(lock["state"] == "ready");
  CHECK(lock["since"] == show_time(web.now, {}));
  CHECK(lock["until"] == show_time(web.now + 600s, {}));
  CHECK(lock["is_over"] == false);
  CHECK(lock["ends_with"] == "success");
}

TEST_CASE("locks: one whose time has passed is over, and one that was taken anew begins then") {
  WebFixture web;
  const JobId id = push_unique(web, "Sync");
  web.now += 600s;
  CHECK(web.read("/api/v1/locks")["locks"][0]["is_over"] == true);
  CHECK(web.post(concat("/api/v1/jobs/", id, "/kill")).status == 200);
  CHECK(web.read("/api/v1/locks")["total"] == 0);
  CHECK(web.post(concat("/api/v1/jobs/", id, "/retry")).status == 200);
  const Json lock = web.read("/api/v1/locks")["locks"][0];
  CHECK(lock["since"] == show_time(web.now, {}));
  CHECK(lock["until"] == show_time(web.now + 600s, {}));
}

TEST_CASE("locks: one that its job lends is not listed") {
  WebFixture web;
  push_unique(web, "Sync", "default", R"(,"unique_until":"start")");
  CHECK(web.read("/api/v1/locks")["locks"].size() == 1);
  web.fetch();
  const Json shown = web.read("/api/v1/locks");
  CHECK(shown["locks"].empty());
  CHECK(shown["total"] == 0);
}

TEST_CASE("locks: queue and type select, also by their beginnings") {
  WebFixture web;
  push_unique(web, "Sync", "mail");
  push_unique(web, "Send", "mail-eu");
  const auto count = [&](const char* query) {
    return web.read(concat("/api/v1/locks?", query))["locks"].size();
  };
  CHECK(count("queue=mail") == 1);
  CHECK(count("queue=mail*") == 2);
  CHECK(count("type=Send") == 1);
  CHECK(count("type=S*") == 2);
  CHECK(count("queue=mail&type=Send") == 0);
  CHECK(web.get("/api/v1/locks?text=x").status == 400);
}

TEST_CASE("locks: the list is paged") {
  WebFixture web;
  for (const char* type : {"A", "B", "C"}) push_unique(web, type);
  const Json first = web.read("/api/v1/locks?limit=2");
  CHECK(first["locks"].size() == 2);
  CHECK(first["total"] == 3);
  const std::string next = first["next"];
  const Json last = web.read("/api/v1/locks?limit=2&cursor=" + next);
  CHECK(last["locks"].size() == 1);
  CHECK(last["next"] == nullptr);
  CHECK(web.get("/api/v1/locks?cursor=x").status == 400);
  CHECK(web.get("/api/v1/locks?cursor=" + std::string(32, 'g')).status == 400);
}

TEST_CASE("locks: one is freed by hand, and Activity has it") {
  WebFixture web;
  const JobId id = push_unique(web, "Sync");
  const Response freed = web.post(concat("/api/v1/locks/", id, "/free"));
  CHECK(freed.is_change);
  CHECK(Json::parse(freed.body)["job"] == id);
  CHECK(web.read("/api/v1/locks")["total"] == 0);
  push_unique(web, "Sync");
  const Json change = web.read("/api/v1/activity")["changes"][0];
  CHECK(change["action"] == "locks/free");
  CHECK(change["target"] == std::to_string(id));
  CHECK(web.post(concat("/api/v1/locks/", id, "/free")).status == 409);
  CHECK(web.post("/api/v1/locks/99/free").status == 404);
  CHECK(web.post("/api/v1/locks/x/free").status == 400);
}

TEST_CASE("locks: none is freed while the disk is full") {
  WebFixture web;
  const JobId id = push_unique(web, "Sync");
  web.broker.set_admission(Admission::kNoGrowth);
  CHECK(web.post(concat("/api/v1/locks/", id, "/free")).status == 503);
}

}  // namespace millrace::http
