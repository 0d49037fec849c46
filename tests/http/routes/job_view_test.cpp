#include "http/routes/job_view.hpp"

#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

Json job(WebFixture& web, JobId id) {
  return web.read(concat("/api/v1/jobs/", id));
}

void tell(WebFixture& web, JobId id, std::uint8_t percent, std::string_view desc) {
  const std::string jid = web.format.identify(*web.find(id)).jid;
  SilentSession session;
  const ClientId client = web.broker.connect(session);
  REQUIRE(web.broker.workers().set_track(client, {.jid = jid, .percent = percent, .desc = desc},
                                         web.now));
  web.broker.disconnect(client, web.now);
}

}  // namespace

TEST_CASE("job: the whole story of a failed one") {
  WebFixture web;
  const JobId id = web.fail("Mail", "no route");
  const Json job = web.read("/api/v1/jobs/" + std::to_string(id));
  CHECK(job["state"] == "retrying");
  CHECK(job["error"]["message"] == "no route");
  CHECK(job["error"]["backtrace"] == Json{"a:1"});
  CHECK(job["error"]["retries_left"] == 25);
  CHECK(job["work_unit"]["args"] == Json{1, "two"});
  CHECK(job["tallies"]["reserves"] == 1);
}

TEST_CASE("job: when a failed one runs again, and why then") {
  WebFixture web;
  const std::string path = "/api/v1/jobs/" + std::to_string(web.fail("Mail", "no route"));
  const std::string why = web.read(path)["error"]["next_why"];
  CHECK(why.starts_with("retry 1 of 25, "));
  CHECK(why.ends_with(" s after the failure: the usual back-off"));
  web.broker.admin().set_retry_delays([](const Job&, std::string_view) {
    return std::optional(RetryDelays{.seconds = {90}, .from = "custom.retry_delays"});
  });
  CHECK_FALSE(std::string(web.read(path)["error"]["next_why"]).ends_with("retry_delays"));
  const JobId id = web.fail("Mail", "no route");
  CHECK(web.read("/api/v1/jobs/" + std::to_string(id))["error"]["next_why"] ==
        "retry 1 of 25, 90 s after the failure: custom.retry_delays");
}

TEST_CASE("job: numbers of a pushed one are given as they were written") {
  WebFixture web;
  const JobId id = web.push("Mail", "default", R"(,"custom":{"n":[18446744073709551617,1e400]})");
  const std::string job = web.get("/api/v1/jobs/" + std::to_string(id)).body;
  CHECK(job.find(R"("custom":{"n":[18446744073709551617,1e400]})") != std::string::npos);
}

TEST_CASE("job: the bytes of a pushed one are what a worker gets") {
  WebFixture web;
  const JobId id = web.push("Mail");
  const std::string path = "/api/v1/jobs/" + std::to_string(id);
  const std::string body = web.get(path + "/body").body;
  CHECK(web.read(path)["body"]["text"] == body);
  CHECK(web.read(path)["body_bytes"] == body.size());
}

TEST_CASE("job: bytes that are no text are shown in base64") {
  WebFixture web;
  const JobId id = web.put(std::string("\xff\x00\x01", 3));
  const Json job = web.read("/api/v1/jobs/" + std::to_string(id));
  CHECK(job["body"]["base64"] == "/wAB");
  CHECK(job["body"]["text"] == nullptr);
}

TEST_CASE("job: bytes that are no text are escaped in rows") {
  WebFixture web;
  web.put(std::string("a\xff\x00", 3));
  CHECK(web.read("/api/v1/jobs?state=ready")["jobs"][0]["args"] == "a\\xff\\x00");
}

TEST_CASE("job: of a long body only the beginning is shown") {
  WebFixture web;
  const JobId id = web.put(std::string(300'000, 'x'));
  const Json job = web.read("/api/v1/jobs/" + std::to_string(id));
  CHECK(job["body"]["is_cut"] == true);
  CHECK(job["body"]["text"].get<std::string>().size() == 256 * 1024);
  CHECK(web.get("/api/v1/jobs/" + std::to_string(id) + "/body").body.size() == 300'000);
}

TEST_CASE("job: of a long pushed job the beginning of its JSON is shown") {
  WebFixture web;
  const JobId id =
      web.push("Mail", "default", concat(R"(,"custom":{"x":")", std::string(500'000, 'x'), "\"}"));
  const Json job = web.read(concat("/api/v1/jobs/", id));
  CHECK(job["work_unit"] == nullptr);
  CHECK(job["body"]["is_cut"] == true);
  CHECK(job["body_bytes"] == web.get(concat("/api/v1/jobs/", id, "/body")).body.size());
  CHECK(job["body"]["text"].get<std::string>().size() == 256 * 1024);
}

TEST_CASE("job: a long body without any beginning of a character is shown in base64") {
  WebFixture web;
  const JobId id = web.put(std::string(300'000, '\x80'));
  const Json job = web.read(concat("/api/v1/jobs/", id));
  CHECK(job["body"]["is_text"] == false);
  CHECK(job["body"]["base64"].get<std::string>().starts_with("gICA"));
}

TEST_CASE("attempts: a job that has not failed has none") {
  WebFixture web;
  const JobId id = web.push("Mail");
  CHECK(web.read("/api/v1/jobs/" + std::to_string(id))["attempts"] == Json::array());
}

TEST_CASE("attempts: the failed run of a job, with its error") {
  WebFixture web;
  const JobId id = web.fail("Mail", "no route");
  const Json attempts = web.read("/api/v1/jobs/" + std::to_string(id))["attempts"];
  REQUIRE(attempts.size() == 1);
  CHECK(attempts[0]["number"] == 1);
  CHECK(attempts[0]["outcome"] == "failed");
  CHECK(attempts[0]["error"]["message"] == "no route");
  CHECK(attempts[0]["error"]["backtrace"] == Json{"a:1"});
}

TEST_CASE("job: one without lock, expiry and progress has none") {
  WebFixture web;
  const Json shown = job(web, web.push("Mail"));
  for (const char* name : {"lock", "expires_at", "progress", "held_up"}) {
    CHECK(shown[name] == nullptr);
  }
}

TEST_CASE("job: a unique one says until when its lock lasts, and when it is free before") {
  WebFixture web;
  const JobId id = web.push("Sync", "default", R"(,"custom":{"unique_for":600})");
  CHECK(job(web, id)["lock"] == Json{{"is_held", true},
                                     {"until", show_time(web.now + 600s, {})},
                                     {"ends_with", "success"}});
}

TEST_CASE("job: a lock that ends with the start is held no more by a job that runs") {
  WebFixture web;
  const JobId id =
      web.push("Sync", "default", R"(,"custom":{"unique_for":600,"unique_until":"start"})");
  CHECK(job(web, id)["lock"]["ends_with"] == "start");
  CHECK(web.fetch() == id);
  CHECK(job(web, id)["lock"]["is_held"] == false);
  CHECK(job(web, id)["lock"]["until"] == nullptr);
}

TEST_CASE("job: one that expires says when") {
  WebFixture web;
  const JobId id = web.push("Sync", "default", R"(,"custom":{"expires_in":60})");
  CHECK(job(web, id)["expires_at"] == show_time(web.now + 60s, {}));
  CHECK(web.read("/api/v1/jobs?state=ready")["jobs"][0]["expires_at"] ==
        show_time(web.now + 60s, {}));
}

TEST_CASE("job: its progress is on its page and in lists") {
  WebFixture web;
  const JobId id = web.push("Sync", "default", R"(,"custom":{"track":1})");
  CHECK(job(web, id)["progress"] == nullptr);
  CHECK(web.fetch() == id);
  web.now += 5s;
  tell(web, id, 12, "reading");
  const Json told{{"percent", 12}, {"desc", "reading"}, {"updated_at", show_time(web.now, {})}};
  CHECK(job(web, id)["progress"] == told);
  CHECK(web.read("/api/v1/jobs?state=reserved")["jobs"][0]["progress"] == told);
}

TEST_CASE("job: a ready one says that its queue is paused, and until when") {
  WebFixture web;
  const JobId id = web.push("Mail", "mail");
  CHECK(web.broker.admin().pause("mail", 60, web.now));
  CHECK(job(web, id)["held_up"] == Json{{"reason", "paused"},
                                        {"until", show_time(web.now + 60s, {})},
                                        {"throttled", nullptr}});
  CHECK(web.broker.admin().pause("mail", std::nullopt, web.now));
  CHECK(job(web, id)["held_up"]["until"] == nullptr);
}

TEST_CASE("job: a ready one says that its queue is throttled") {
  WebFixture web;
  web.broker.admin().set_throttle_rules({}, web.now);
  CHECK(web.broker.admin().set_throttle("mail", {.concurrency = 1, .timeout_s = 60}, web.now));
  const JobId running = web.push("Mail", "mail");
  const JobId waiting = web.push("Mail", "mail");
  CHECK(job(web, waiting)["held_up"] == nullptr);
  CHECK(web.fetch("mail") == running);
  CHECK(job(web, waiting)["held_up"]["throttled"] == "1 of 1");
  CHECK(job(web, running)["held_up"] == nullptr);
}

TEST_CASE("job: a ready one says that its type or its key is throttled") {
  WebFixture web;
  web.broker.admin().set_throttle_rules({}, web.now);
  CHECK(web.broker.admin().set_throttle("type:Mail", {.concurrency = 1, .timeout_s = 60}, web.now));
  CHECK(web.broker.admin().set_throttle("tenants", {.timeout_s = 60, .per_key = 1}, web.now));
  // Running jobs are counted first.
  static_cast<void>(web.broker.tick(web.now));
  const auto keyed = [&] {
    return web.push("Post", "tenants", R"(,"custom":{"throttle_key":"acme"})");
  };
  const JobId mail = web.push("Mail", "mail");
  const JobId other_mail = web.push("Mail", "mail");
  const JobId post = web.push("Post", "mail");
  const JobId acme = keyed();
  const JobId other_acme = keyed();
  CHECK(job(web, other_mail)["held_up"] == nullptr);
  CHECK(job(web, other_acme)["held_up"] == nullptr);
  CHECK(web.fetch("mail") == mail);
  CHECK(web.fetch("tenants") == acme);
  CHECK(job(web, other_mail)["held_up"]["throttled"] == "type Mail 1 of 1");
  CHECK(job(web, other_acme)["held_up"]["throttled"] == "key acme 1 of 1");
  CHECK(job(web, post)["held_up"] == nullptr);
}

}  // namespace millrace::http
