#include "core/ports/cron_board.hpp"
#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

/// 2026-11-24 01:30:00 UTC.
constexpr Time kRun{std::chrono::seconds{1'795'483'800}};

CronBoard::Entry nightly() {
  return {.id = "nightly",
          .is_named = true,
          .schedule = "30 2 * * *",
          .time_zone = "Europe/Berlin",
          .catch_up = "one",
          .jobtype = "Report",
          .queue = "low",
          .args = R"(["all",18446744073709551617])",
          .custom = R"({"track":1})",
          .retry = 3,
          .jitter = 30s,
          .next = {kRun, kRun + 24h},
          .next_offsets = {1h, 1h},
          .runs = {}};
}

}  // namespace

TEST_CASE("cron: without entries the list is empty") {
  WebFixture web;
  CHECK(web.get("/api/v1/cron").body == R"({"entries":[],"total":0,"next":null})");
}

TEST_CASE("cron: an entry has its next runs in its own time zone") {
  WebFixture web;
  web.cron.entries = {nightly()};
  web.cron.entries[0].next_offsets = {1h, -(9h + 30min)};
  const Json entry = web.read("/api/v1/cron")["entries"][0];
  CHECK(entry["name"] == "nightly");
  CHECK(entry["time_zone"] == "Europe/Berlin");
  CHECK(entry["next"] == Json{"2026-11-24T02:30:00+01:00", "2026-11-24T16:00:00-09:30"});
  CHECK(entry["last"] == nullptr);
}

TEST_CASE("cron: an entry has its schedule in words, or null") {
  WebFixture web;
  web.cron.entries = {nightly(), nightly()};
  web.cron.entries[0].words = "every day at 02:30, Berlin";
  const Json entries = web.read("/api/v1/cron")["entries"];
  CHECK(entries[0]["words"] == "every day at 02:30, Berlin");
  CHECK(entries[1]["words"] == nullptr);
}

TEST_CASE("cron: the list is paged in the order of the files") {
  WebFixture web;
  for (const char* name : {"c", "a", "b"}) {
    web.cron.entries.push_back(nightly());
    web.cron.entries.back().id = name;
  }
  const Json first = web.read("/api/v1/cron?limit=2");
  CHECK(first["entries"][0]["name"] == "c");
  CHECK(first["total"] == 3);
  const Json second = web.read("/api/v1/cron?limit=2&cursor=" + first["next"].get<std::string>());
  CHECK(second["entries"][0]["name"] == "b");
  CHECK(second["next"] == nullptr);
  CHECK(web.read("/api/v1/cron?cursor=99")["entries"].empty());
  CHECK(web.get("/api/v1/cron?cursor=x").status == 400);
}

TEST_CASE("cron: one entry has its job as it was written") {
  WebFixture web;
  web.cron.entries = {nightly()};
  const Json entry = web.read("/api/v1/cron/nightly");
  CHECK(entry["args"] == R"(["all",18446744073709551617])");
  CHECK(entry["custom"] == R"({"track":1})");
  CHECK(entry["retry"] == 3);
  CHECK(entry["reserve_for"] == nullptr);
  CHECK(entry["jitter"] == 30);
  CHECK(web.get("/api/v1/cron/nosuch").status == 404);
}

TEST_CASE("cron: a run says what became of its job") {
  WebFixture web;
  web.cron.entries = {nightly()};
  const Response made = web.post("/api/v1/cron/nightly/run");
  CHECK(made.status == 201);
  CHECK(made.is_change);
  const Json pushed = Json::parse(made.body);
  CHECK(pushed["jid"] == "cron-run-1");
  CHECK(pushed["state"] == "ready");
  const auto last = [&] { return web.read("/api/v1/cron/nightly")["last"]; };
  CHECK(last()["id"] == pushed["id"]);
  CHECK(last()["is_by_hand"] == true);
  CHECK(last()["state"] == "ready");
  const JobId id = web.fetch("low");
  CHECK(last()["state"] == "reserved");
  const std::string number = std::to_string(id);
  CHECK(web.read("/api/v1/jobs/" + number)["cron"] == "nightly");
  CHECK(last()["outcome"] == nullptr);
  web.now += 300ms;
  web.acknowledge(id);
  CHECK(last()["state"] == nullptr);
  CHECK(last()["outcome"] == "done");
  CHECK(last()["took_s"] == 0.3);
  CHECK(web.read("/api/v1/finished/" + number)["cron"] == "nightly");
  // It does so when the job is long forgotten.
  web.now += 48h;
  CHECK(web.get("/api/v1/finished/" + number).status == 404);
  CHECK(last()["outcome"] == "done");
  CHECK(last()["jid"] == "cron-run-1");
}

TEST_CASE("cron: the list has how the last runs went, the oldest first") {
  WebFixture web;
  web.cron.entries = {nightly()};
  web.cron.entries[0].runs = {
      {.planned = kRun, .at = kRun, .job = 0, .jid = {}, .problem = "NOTUNIQUE"}};
  CHECK(web.post("/api/v1/cron/nightly/run").status == 201);
  const JobId id = web.fetch("low");
  web.now += 300ms;
  web.acknowledge(id);
  CHECK(web.read("/api/v1/cron")["entries"][0]["recent"] ==
        Json{{{"state", nullptr}, {"outcome", nullptr}, {"took_s", nullptr}, {"is_refused", true}},
             {{"state", nullptr}, {"outcome", "done"}, {"took_s", 0.3}, {"is_refused", false}}});
}

TEST_CASE("cron: the history has the newest run first, and why one was refused") {
  WebFixture web;
  web.cron.entries = {nightly()};
  web.cron.entries[0].runs = {
      {.planned = kRun, .at = kRun + 1s, .job = 7, .jid = "seven", .problem = {}},
      {.planned = kRun + 24h, .at = kRun + 24h, .job = 0, .jid = {}, .problem = "NOTUNIQUE"}};
  const Json runs = web.read("/api/v1/cron/nightly")["runs"];
  CHECK(runs[0]["problem"] == "NOTUNIQUE");
  CHECK(runs[0]["id"] == nullptr);
  CHECK(runs[1]["planned_at"] == "2026-11-24T01:30:00.000Z");
  CHECK(runs[1]["at"] == "2026-11-24T01:30:01.000Z");
  CHECK(runs[1]["jid"] == "seven");
}

TEST_CASE("cron: a run that is refused says so in the words of PUSH") {
  WebFixture web;
  web.cron.entries = {nightly()};
  web.cron.no_run = PushRefusal{PushRefusal::Reason::kNotUnique, "NOTUNIQUE Job not unique"};
  const Response refused = web.post("/api/v1/cron/nightly/run");
  CHECK(refused.status == 409);
  CHECK(refused.body == R"({"error":"NOTUNIQUE Job not unique","code":"not_unique"})");
  const auto status_when = [&web](PushRefusal::Reason reason) {
    web.cron.no_run->reason = reason;
    return web.post("/api/v1/cron/nightly/run").status;
  };
  CHECK(status_when(PushRefusal::Reason::kInvalid) == 409);
  CHECK(status_when(PushRefusal::Reason::kNoRoom) == 503);
  CHECK(status_when(PushRefusal::Reason::kStopping) == 503);
  CHECK(web.post("/api/v1/cron/nosuch/run").status == 404);
}

TEST_CASE("cron: an entry is paused and resumed") {
  WebFixture web;
  web.cron.entries = {nightly()};
  const Response paused = web.post("/api/v1/cron/nightly/pause");
  CHECK(paused.body == R"({"name":"nightly","is_paused":true})");
  CHECK(paused.is_change);
  CHECK(web.read("/api/v1/cron/nightly")["is_paused"] == true);
  CHECK(web.post("/api/v1/cron/nightly/resume").status == 200);
  CHECK(web.read("/api/v1/cron/nightly")["is_paused"] == false);
  CHECK(web.post("/api/v1/cron/nosuch/pause").status == 404);
  web.cron.refusal = Refusal::kNoRoom;
  CHECK(web.post("/api/v1/cron/nightly/pause").status == 503);
}

TEST_CASE("cron: the name of an entry may have slashes, and may be a step in a path") {
  WebFixture web;
  for (const char* name : {"a/b", ".."}) {
    web.cron.entries.push_back(nightly());
    web.cron.entries.back().id = name;
  }
  CHECK(web.post("/api/v1/cron/a/b/pause").status == 200);
  CHECK(web.read("/api/v1/cron/a/b")["is_paused"] == true);
  CHECK(web.read("/api/v1/cron/%2E%2E")["name"] == "..");
}

}  // namespace millrace::http
