#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

/// A job that the worker of the fixture has done.
JobId finish(WebFixture& web, std::string_view type, std::string_view queue = "default") {
  const JobId id = web.push(type, queue);
  CHECK(web.fetch(std::string(queue)) == id);
  web.now += 2s;
  web.acknowledge(id);
  return id;
}

TEST_CASE("finished: the latest come first, with what is known of them") {
  WebFixture web;
  const JobId first = finish(web, "Mail");
  const JobId second = web.put("bytes");
  CHECK(web.post("/api/v1/jobs/" + std::to_string(second) + "/delete").status == 200);
  const Json page = web.read("/api/v1/finished");
  REQUIRE(page["jobs"].size() == 2);
  CHECK(page["jobs"][0]["id"] == second);
  CHECK(page["jobs"][0]["outcome"] == "deleted");
  CHECK(page["jobs"][0]["type"] == "beanstalk");
  CHECK(page["jobs"][0]["began_at"] == nullptr);
  const Json& done = page["jobs"][1];
  CHECK(done["id"] == first);
  CHECK(done["type"] == "Mail");
  CHECK(done["outcome"] == "done");
  CHECK(done["wid"] == "w1");
  CHECK(done["runs"] == 1);
  CHECK(done["jid"] != "");
  CHECK(page["kept"] == 2);
  CHECK(page["limits"] == Json{{"jobs", 10'000}, {"is_durable", false}, {"seconds", 86'400}});
  CHECK(page["next"] == nullptr);
}

TEST_CASE("finished: a framework's jobs have the class that they wrapped") {
  WebFixture web;
  const JobId pushed = web.push("ActiveJob::QueueAdapters::FaktoryAdapter::JobWrapper", "default",
                                R"(,"custom":{"wrapped":"InvoiceJob"})");
  const std::string jid = web.read("/api/v1/jobs?state=ready")["jobs"][0]["jid"];
  CHECK(web.fetch() == pushed);
  web.acknowledge(pushed);
  const JobId put = web.put(R"({"displayName":"App\\Mail","job":"x@call"})");
  CHECK(web.post("/api/v1/jobs/" + std::to_string(put) + "/delete").status == 200);
  const Json jobs = web.read("/api/v1/finished")["jobs"];
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0]["type"] == "App\\Mail");
  CHECK(jobs[0]["jid"] == "beanstalk-" + std::to_string(put));
  CHECK(jobs[1]["type"] == "InvoiceJob");
  CHECK(jobs[1]["jid"] == jid);
  CHECK(web.read("/api/v1/finished?type=Invoice*")["jobs"].size() == 1);
  CHECK(web.read("/api/v1/jids/" + jid)["finished"].size() == 1);
}

TEST_CASE("finished: a job that was dropped has its arguments") {
  WebFixture web;
  const JobId done = finish(web, "Mail");
  const JobId dropped = web.push("Mail", "default", R"(,"retry":0)");
  CHECK(web.fetch() == dropped);
  const std::string jid = web.format.identify(*web.find(dropped)).jid;
  CHECK(web.broker.workers().fail(web.worker("w2"), jid, {.errtype = "E"}, web.now));
  CHECK(web.read("/api/v1/finished/" + std::to_string(done))["args"] == nullptr);
  CHECK(web.read("/api/v1/finished/" + std::to_string(dropped))["args"] == R"([1,"two"])");
}

TEST_CASE("finished: those that ended within a time") {
  WebFixture web;
  const auto begin = std::chrono::floor<std::chrono::milliseconds>(web.now.time_since_epoch());
  for (const char* const type : {"First", "Second", "Third"}) finish(web, type);
  const auto types = [&](int since_s, int until_s) {
    const Json page = web.read(
        concat("/api/v1/finished?ended_since_ms=", (begin + std::chrono::seconds{since_s}).count(),
               "&ended_until_ms=", (begin + std::chrono::seconds{until_s}).count()));
    CHECK(page["next"] == nullptr);
    std::string found;
    for (const Json& job : page["jobs"]) found += job["type"].get<std::string>() + " ";
    return found;
  };
  CHECK(types(0, 7) == "Third Second First ");
  CHECK(types(4, 6) == "Second ");
  CHECK(types(3, 4).empty());
  CHECK(web.get("/api/v1/finished?ended_since_ms=now").status == 400);
  CHECK(web.get("/api/v1/finished?ended_until_ms=").status == 400);
}

TEST_CASE("finished: a turn looks at some of them") {
  WebFixture web;
  for (int i = 0; i < 600; ++i) finish(web, i % 300 == 0 ? "Rare" : "Mail");
  CHECK(web.read("/api/v1/finished?limit=200")["jobs"].size() == 200);
  CHECK(web.turns == 1);
  const Json rare = web.read("/api/v1/finished?type=Rare");
  CHECK(web.turns == 3);
  CHECK(rare["jobs"].size() == 2);
  CHECK(rare["looked_at"] == 600);
  CHECK(rare["next"] == nullptr);
}

TEST_CASE("finished: filters, and pages") {
  WebFixture web;
  finish(web, "MailAll", "one");
  const JobId second = finish(web, "MailOne", "two");
  const JobId third = finish(web, "Sync", "two");
  const auto ids = [&](const std::string& query) {
    const Json page = web.read("/api/v1/finished?" + query);
    std::vector<JobId> found;
    for (const Json& job : page["jobs"]) found.push_back(job["id"]);
    return found;
  };
  CHECK(ids("queue=two") == std::vector<JobId>{third, second});
  CHECK(ids("type=Mail*&queue=t*") == std::vector<JobId>{second});
  CHECK(ids("outcome=dropped").empty());
  const Json page = web.read("/api/v1/finished?limit=2");
  CHECK(page["jobs"].size() == 2);
  const Json next = web.read("/api/v1/finished?limit=2&cursor=" + page["next"].get<std::string>());
  CHECK(next["jobs"].size() == 1);
  CHECK(next["next"] == nullptr);
  CHECK(web.get("/api/v1/finished?outcome=well").status == 400);
  CHECK(web.get("/api/v1/finished?cursor=x").status == 400);
  CHECK(web.get("/api/v1/finished?limit=0").status == 400);
}

TEST_CASE("finished: one job tells of its attempts, a list does not") {
  WebFixture web;
  const JobId id = web.fail("Mail", "no route");
  CHECK(web.post("/api/v1/jobs/" + std::to_string(id) + "/retry").status == 200);
  CHECK(web.fetch("failing") == id);
  web.acknowledge(id);
  const Json job = web.read("/api/v1/finished/" + std::to_string(id));
  CHECK(job["outcome"] == "done");
  REQUIRE(job["attempts"].size() == 1);
  CHECK(job["attempts"][0]["outcome"] == "failed");
  CHECK(job["attempts"][0]["error"]["message"] == "no route");
  CHECK_FALSE(web.read("/api/v1/finished")["jobs"][0].contains("attempts"));
}

TEST_CASE("finished: one job by its number, and by its jid") {
  WebFixture web;
  const JobId id = finish(web, "Mail");
  CHECK(web.get("/api/v1/jobs/" + std::to_string(id)).status == 404);
  const Json job = web.read("/api/v1/finished/" + std::to_string(id));
  CHECK(job["type"] == "Mail");
  const Json named = web.read("/api/v1/jids/" + job["jid"].get<std::string>());
  CHECK(named["jobs"].empty());
  REQUIRE(named["finished"].size() == 1);
  CHECK(named["finished"][0]["id"] == id);
  CHECK(web.get("/api/v1/finished/12345").status == 404);
  CHECK(web.get("/api/v1/finished/x").status == 400);
}

}  // namespace
}  // namespace millrace::http
