#include <string>

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("errors: failures that differ in numbers are one group, the largest is first") {
  WebFixture web;
  web.fail("Mail", "refused");
  web.fail("Mail", "timeout after 3 s");
  const JobId last = web.fail("Sync", "timeout after 44 s", true);
  const Json page = web.read("/api/v1/errors");
  CHECK(page["next"] == nullptr);
  CHECK(page["to_look_at"] == 2);
  REQUIRE(page["groups"].size() == 2);
  const Json& first = page["groups"][0];
  CHECK(first["message"] == "timeout after # s");
  CHECK(first["jobs"] == 2);
  CHECK(first["retrying"] == 1);
  CHECK(first["dead"] == 1);
  // The dead one, for it is what people come to see.
  CHECK(first["sample"] == last);
  CHECK(first["types"] == Json{"Mail", "Sync"});
  CHECK(first["queues"] == Json{"failing"});
  CHECK(first["queue_count"] == 1);
  CHECK(page["groups"][1]["message"] == "refused");
}

TEST_CASE("errors: what waits again, or is at work again, is still of its group") {
  WebFixture web;
  const JobId waits = web.fail("Mail", "timeout after 3 s");
  const JobId works = web.fail("Mail", "timeout after 4 s", true);
  web.push("Mail");
  CHECK(web.broker.admin().change(works, Mutation::Action::kRequeue, web.now));
  CHECK(web.broker.admin().change(waits, Mutation::Action::kRequeue, web.now));
  CHECK(web.fetch("failing") == works);
  const Json page = web.read("/api/v1/errors");
  REQUIRE(page["groups"].size() == 1);
  CHECK(page["groups"][0]["ready"] == 1);
  CHECK(page["groups"][0]["reserved"] == 1);
  CHECK(page["groups"][0]["dead"] == 0);
  CHECK(page["groups"][0]["sample"] == works);
}

TEST_CASE("errors: are found by text, queue and type of job, page by page") {
  WebFixture web;
  web.fail("Mail", "one is refused");
  web.fail("Mail", "two are refused");
  web.fail("Sync", "late");
  const auto messages = [&](const std::string& query) {
    std::string all;
    Json next = "";
    while (next != nullptr) {
      const Json page =
          web.read("/api/v1/errors?limit=1&cursor=" + next.get<std::string>() + query);
      for (const Json& group : page["groups"]) all += group["message"].get<std::string>() + ";";
      next = page["next"];
    }
    return all;
  };
  const std::string all = messages("");
  for (const char* each : {"one is refused;", "two are refused;", "late;"}) {
    CHECK(all.find(each) != all.npos);
  }
  CHECK(all.size() == std::string("one is refused;two are refused;late;").size());
  CHECK(messages("&match=ARE") == "two are refused;");
  CHECK(messages("&match=sync") == "late;");
  CHECK(messages("&match=failin").size() == messages("").size());
  CHECK(messages("&type=Sync") == "late;");
  CHECK(messages("&type=S*") == "late;");
  CHECK(messages("&type=Syn").empty());
  CHECK(messages("&queue=failing&type=Sync") == "late;");
  CHECK(messages("&queue=fail*&match=two") == "two are refused;");
  CHECK(messages("&queue=other").empty());
  // As somebody reads it in a log.
  web.fail("Sync", "no user 17 in 'crm'");
  CHECK(messages("&match=No user 99 in 'mail'") == "no user # in #;");
  CHECK(messages("&match=Oops: no user 1") == "no user # in #;");
  CHECK(messages("&match=user x").empty());
  CHECK(messages("&match=17").empty());
}

TEST_CASE("errors: of long types and many queues a part is read") {
  WebFixture web;
  const std::string type(400'000, 'T');
  for (int i = 0; i < 30; ++i) {
    web.fail(type, "late after x" + std::string(static_cast<std::size_t>(i), 'x'));
  }
  const Json page = web.read("/api/v1/errors?limit=200");
  // Neither all groups nor the whole types are in an answer.
  CHECK(page["groups"].size() < 30);
  CHECK(page["next"] != nullptr);
  CHECK(page["groups"][0]["types"][0].get<std::string>().size() == 300);
  CHECK(web.read("/api/v1/errors?type=TTT*")["groups"].size() > 0);
}

TEST_CASE("errors: an hour's failures are counted, also those of a job that fails again") {
  WebFixture web;
  const JobId id = web.fail("Mail", "refused");
  web.now += 2h;
  CHECK(web.broker.admin().change(id, Mutation::Action::kRequeue, web.now));
  CHECK(web.fetch("failing") == id);
  const std::string jid = web.format.identify(*web.find(id)).jid;
  CHECK(web.broker.workers().fail(web.worker("w2"), jid,
                                  {.errtype = "Oops", .message = "refused", .backtrace = {"a:1"}},
                                  web.now));
  const Json group = web.read("/api/v1/errors")["groups"][0];
  CHECK(group["hours"] == Json{1, 0, 1});
  CHECK(group["first_at"] != group["last_at"]);
}

TEST_CASE("errors: what no job has any more is shown for a day, after all others") {
  WebFixture web;
  const JobId gone = web.fail("Mail", "refused by nobody");
  web.fail("Mail", "late");
  CHECK(web.broker.admin().change(gone, Mutation::Action::kDiscard, web.now));
  const Json page = web.read("/api/v1/errors?limit=1");
  CHECK(page["groups"][0]["message"] == "late");
  CHECK(page["to_look_at"] == 2);
  const std::string rest = "/api/v1/errors?cursor=" + page["next"].get<std::string>();
  const Json last = web.read(rest);
  REQUIRE(last["groups"].size() == 1);
  CHECK(last["groups"][0]["message"] == "refused by nobody");
  CHECK(last["groups"][0]["jobs"] == 0);
  CHECK(last["groups"][0]["sample"] == gone);
  CHECK(last["groups"][0]["hours"] == Json{1});
  CHECK(last["next"] == nullptr);
  CHECK(web.read("/api/v1/errors?match=NOBODY")["groups"].size() == 1);
  CHECK(web.read("/api/v1/errors?match=elsewhere")["groups"].empty());
  CHECK(web.read("/api/v1/errors?type=Mail")["groups"].size() == 2);
  web.now += 25h;
  CHECK(web.read(rest)["groups"].empty());
}

TEST_CASE("errors: a job without retries is gone, its error is not") {
  WebFixture web;
  const JobId id = web.push("Mail", "default", R"(,"retry":0)");
  CHECK(web.fetch() == id);
  const std::string jid = web.format.identify(*web.find(id)).jid;
  CHECK(web.broker.workers().fail(web.worker("w2"), jid, {"Drop", "no luck", {}}, web.now));
  const Json group = web.read("/api/v1/errors")["groups"][0];
  CHECK(group["type"] == "Drop");
  CHECK(group["jobs"] == 0);
  // The job is still known as one that has ended.
  CHECK(group["sample"] == id);
  CHECK(group["types"] == Json{"Mail"});
  CHECK(group["queues"] == Json{"default"});
  CHECK(group["queue_count"] == 1);
  CHECK(web.read("/api/v1/errors?type=Mail&queue=def*")["groups"].size() == 1);
  CHECK(web.read("/api/v1/errors?type=Other")["groups"].empty());
  CHECK(web.read("/api/v1/errors?queue=other")["groups"].empty());
}

TEST_CASE("errors: a job that fails in another way makes a new error, not an old one") {
  WebFixture web;
  const JobId id = web.fail("Mail", "refused");
  web.now += 2h;
  CHECK(web.broker.admin().change(id, Mutation::Action::kRequeue, web.now));
  CHECK(web.fetch("failing") == id);
  const std::string jid = web.format.identify(*web.find(id)).jid;
  CHECK(web.broker.workers().fail(web.worker("w2"), jid, {"Other", "late", {}}, web.now));
  const Json group = web.read("/api/v1/errors?match=late")["groups"][0];
  CHECK(group["first_at"] == group["last_at"]);
}

TEST_CASE("errors: one that is muted is left out on demand, until the time is over") {
  WebFixture web;
  web.fail("Mail", "refused");
  web.fail("Mail", "late");
  const auto messages = [&](const std::string& query) {
    std::string all;
    const Json page = web.read("/api/v1/errors" + query);
    for (const Json& group : page["groups"]) {
      all += group["message"].get<std::string>() + ";";
    }
    return all;
  };
  const std::string group = web.read("/api/v1/errors?match=late")["groups"][0]["group"];
  const std::string path = "/api/v1/errors/" + group;
  CHECK(web.read(path)["muted"] == nullptr);
  const Response muted = web.post(path + "/mute", {{"seconds", 3600}});
  CHECK(muted.status == 200);
  CHECK(muted.is_change);
  CHECK(muted.changed == "Oops late: not muted → muted until 2023-11-14T23:13:20.000Z");
  CHECK(Json::parse(muted.body)["muted"]["below_jobs"] == nullptr);
  CHECK(web.read(path)["muted"]["until"].is_string());
  CHECK(messages("?muted=no") == "refused;");
  CHECK(messages("?muted=only") == "late;");
  CHECK(web.read("/api/v1/errors")["groups"].size() == 2);
  CHECK(web.read("/api/v1/errors")["muted"] == 1);
  web.now += 1h;
  CHECK(web.read("/api/v1/errors")["muted"] == 0);
  CHECK(web.broker.view().error_marks().count() == 1);  // until there is no room
  CHECK(messages("?muted=only").empty());
}

TEST_CASE("errors: one is muted until more jobs have it, or until somebody ends that") {
  WebFixture web;
  web.fail("Mail", "late");
  const std::string group = web.read("/api/v1/errors")["groups"][0]["group"];
  const std::string path = "/api/v1/errors/" + group;
  CHECK(web.post(path + "/mute", {{"jobs", 2}}).status == 200);
  CHECK(web.read(path)["muted"]["below_jobs"] == 2);
  web.fail("Mail", "late");
  CHECK(web.read(path)["muted"] == nullptr);
  CHECK(web.post(path + "/mute", {{"jobs", 2}}).status == 409);  // it would mute nothing
  CHECK(web.post(path + "/mute", {{"jobs", 4}}).status == 200);
  CHECK(web.post(path + "/unmute").changed == "Oops late: muted below 4 jobs → not muted");
  CHECK(web.read(path)["muted"] == nullptr);
  CHECK(web.broker.view().error_marks().count() == 0);
}

TEST_CASE("errors: a note stays when no job has the error any more") {
  WebFixture web;
  const JobId id = web.fail("Mail", "late");
  const std::string group = web.read("/api/v1/errors")["groups"][0]["group"];
  const std::string path = "/api/v1/errors/" + group;
  CHECK(web.post(path + "/note", {{"text", "Ask Ana"}, {"was", ""}}).changed ==
        "Oops late: no note → note: Ask Ana");
  // Somebody else has read no note, or another one.
  CHECK(web.post(path + "/note", {{"text", "?"}, {"was", ""}}).status == 409);
  CHECK(web.post(path + "/note", {{"text", "?"}, {"was", "ask Ana"}}).status == 409);
  CHECK(
      web.post(path + "/note", {{"text", "Ask the\nnetwork team."}, {"was", "Ask Ana"}}).changed ==
      "Oops late: note: Ask Ana → note: Ask the network team.");
  CHECK(web.read("/api/v1/errors")["groups"][0]["note"]["text"] == "Ask the\nnetwork team.");
  CHECK(web.broker.admin().change(id, Mutation::Action::kDiscard, web.now));
  web.now += 48h;
  // It is listed, so that it can be found and removed.
  const Json listed = web.read("/api/v1/errors?match=LATE")["groups"];
  REQUIRE(listed.size() == 1);
  CHECK(listed[0]["jobs"] == 0);
  CHECK(web.read(path)["note"]["text"] == "Ask the\nnetwork team.");
  web.failures = {};  // as after a restart
  CHECK(web.read(path)["type"] == nullptr);
  CHECK(web.read("/api/v1/errors?match=network")["groups"][0]["group"] == group);
  CHECK(web.read("/api/v1/errors?match=elsewhere")["groups"].empty());
  CHECK(Json::parse(web.post(path + "/note", {{"text", " \n "}}).body)["note"] == nullptr);
  CHECK(web.get(path).status == 404);
}

TEST_CASE("errors: only so many have marks; those that are over make room") {
  WebFixture web;
  AdminOperations& admin = web.broker.admin();
  for (std::uint64_t group = 1; group <= kErrorMarksMax; ++group) {
    CHECK(admin.mark_error(group, {.muted_until = web.now + 1h}, web.now));
  }
  web.fail("Mail", "late");
  const std::string group = web.read("/api/v1/errors")["groups"][0]["group"];
  const std::string path = "/api/v1/errors/" + group;
  CHECK(web.post(path + "/mute", {{"seconds", 60}}).status == 409);
  web.now += 2h;
  CHECK(web.post(path + "/mute", {{"seconds", 60}}).status == 200);
  CHECK(web.broker.view().error_marks().count() == 1);
}

TEST_CASE("errors: a mark that makes no sense is refused") {
  WebFixture web;
  web.fail("Mail", "late");
  const std::string group = web.read("/api/v1/errors")["groups"][0]["group"];
  const std::string path = "/api/v1/errors/" + group;
  for (const Json& members :
       {Json::object(), Json{{"seconds", 0}}, Json{{"seconds", -1}}, Json{{"jobs", 0}},
        Json{{"jobs", 1.5}}, Json{{"seconds", 40'000'000}}, Json{{"seconds", "60"}},
        Json{{"seconds", 60}, {"jobs", 2}}, Json{{"minutes", 1}}}) {
    CAPTURE(members.dump());
    CHECK(web.post(path + "/mute", members).status == 400);
  }
  CHECK(web.post(path + "/note").status == 400);
  CHECK(web.post(path + "/note", {{"text", 1}}).status == 400);
  CHECK(web.post(path + "/note", {{"text", std::string(1001, 'x')}}).status == 400);
  CHECK(web.get("/api/v1/errors?muted=yes").status == 400);
  for (const std::string unknown : {"0123456789abcdef", "0000000000000000", "dead"}) {
    CHECK(web.get("/api/v1/errors/" + unknown).status == 404);
    CHECK(web.post("/api/v1/errors/" + unknown + "/mute", {{"seconds", 60}}).status == 404);
  }
}

TEST_CASE("errors: a cursor or a filter that makes no sense is refused") {
  WebFixture web;
  for (const std::string query :
       {"cursor=dead", "cursor=1-", "cursor=-0123456789abcdef", "cursor=1-0123456789abcde",
        "cursor=99999999999999999999-0123456789abcdef", "cursor=1-0000000000000000", "limit=0",
        "limit=9999", "match=\xff", "sort=latest"}) {
    CAPTURE(query);
    CHECK(web.get("/api/v1/errors?" + query).status == 400);
  }
  CHECK(web.get("/api/v1/errors?match=" + std::string(1025, 'x')).status == 400);
  // Or all jobs would match.
  CHECK(web.get("/api/v1/jobs?group=dead").status == 400);
  CHECK(web.get("/api/v1/jobs?group=0000000000000000").status == 400);
}

}  // namespace millrace::http
