#include "http/routes/features/job_features.hpp"

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
