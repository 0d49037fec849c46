#include "http/routes/attention.hpp"

#include "core/spilling_broker.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("overview: says so when jobs come near --memory-limit") {
  WebFixture web;
  web.put(std::string(50'000, 'x'));
  const std::size_t taken = web.ledger.memory().needed_bytes();
  web.ledger.memory().limit(taken * 2);
  CHECK(web.read("/api/v1/overview")["attention"].empty());
  web.ledger.memory().limit(taken + taken / 20);
  const Json concern = web.read("/api/v1/overview")["attention"][0];
  CHECK(concern["kind"] == "memory");
  CHECK(concern["text"] == "Jobs use 95 % of --memory-limit; at 100 % new jobs are refused");
  CHECK(web.read("/api/v1/server")["job_memory_bytes_max"] == taken + taken / 20);
}

TEST_CASE("overview: bodies that may be read later are not called lost") {
  test::MemoryLog log;
  WebFixture web;
  web.ledger.memory().limit(log, std::size_t{1} << 20);
  for (int i = 0; i < 3; ++i) web.put("body");
  web.ledger.place(log.append(kOnlyEpoch, web.ledger.take_batch())->begin);
  for (JobId id = 1; id <= 3; ++id) web.ledger.store().jobs().bodies().spill(*web.find(id));
  log.is_broken = true;
  const ClientId client = web.worker("w");
  for (JobId id = 1; id <= 3; ++id) {
    CHECK_FALSE(web.broker.connections().reserve_job(client, id, web.now));
    log.is_passing = true;
  }
  const Json concerns = web.read("/api/v1/overview")["attention"];
  REQUIRE(concerns.size() == 2);
  CHECK(concerns[0]["kind"] == "bodies");
  CHECK(concerns[0]["text"] == "The body of 1 job could not be read from the journal");
  CHECK(concerns[1]["kind"] == "bodies_awaited");
  CHECK(concerns[1]["text"] ==
        "The bodies of 2 jobs cannot currently be read from disk; the server retries every minute");
}

TEST_CASE("overview: says so in drain mode") {
  WebFixture web;
  web.traffic.is_draining = true;
  const Json concern = web.read("/api/v1/overview")["attention"][0];
  CHECK(concern["kind"] == "draining");
  CHECK(concern["level"] == "notice");
}

TEST_CASE("overview: many troubles of one kind hide no other") {
  WebFixture web;
  for (int i = 0; i < 9; ++i) web.push("Mail", "mail-" + std::to_string(i));
  web.push("Mail", "paused");
  CHECK(web.broker.admin().pause("paused", std::nullopt, web.now));
  web.now += 2min;
  const Json shown = web.read("/api/v1/overview");
  REQUIRE(shown["attention"].size() == kConcernsOfKindMax + 1);
  CHECK(shown["attention"].back()["kind"] == "paused");
  CHECK(shown["attention_left_out"] == 5);
  CHECK(shown["health"]["text"] == "mail-0 has 1 waiting job and no worker, and 9 more issues.");
}

TEST_CASE("overview: of many troubles of one kind the longest backlogs are shown") {
  WebFixture web;
  for (int i = 0; i < 9; ++i) web.push("Mail", "mail-" + std::to_string(i));
  for (int i = 0; i < 1000; ++i) web.push("Mail", "mail-8");
  web.push("Mail", "mail-5");
  web.now += 2min;
  const Json shown = web.read("/api/v1/overview");
  CHECK(shown["health"]["text"] ==
        "mail-8 has 1,001 waiting jobs and no worker, and 8 more issues.");
  REQUIRE(shown["attention"].size() == kConcernsOfKindMax);
  CHECK(shown["attention"][0]["queue"] == "mail-8");
  CHECK(shown["attention"][1]["queue"] == "mail-5");
  CHECK(shown["attention"][2]["queue"] == "mail-0");
  CHECK(shown["attention"][3]["queue"] == "mail-1");
}

TEST_CASE("overview: a paused queue with jobs, a full disk") {
  WebFixture web;
  web.push("Mail", "mail");
  CHECK(web.broker.admin().pause("mail", std::nullopt, web.now));
  web.system.disk_total_bytes = 100;
  web.system.disk_free_bytes = 7;
  const Json attention = web.read("/api/v1/overview")["attention"];
  REQUIRE(attention.size() == 2);
  CHECK(attention[0]["text"] == "Only 7 % of the journal's disk is free");
  CHECK(attention[1]["text"] == "is paused with 1 waiting job");
}

TEST_CASE("overview: a share of failures names its time, and the share now") {
  const auto sentence = [](int failures, int runs, Duration ago = {}) {
    WebFixture web;
    for (Time end = web.now + 10min; web.now < end; web.now += 2s) {
      web.trend.note(web.broker.view(), web.now);
    }
    for (int i = 0; i < runs; ++i) {
      if (i < failures) {
        web.fail("Mail", "no");
      } else {
        web.push("Mail");
        web.acknowledge(web.fetch());
      }
    }
    web.trend.note(web.broker.view(), web.now);
    for (const Time end = web.now + ago; web.now < end;) {
      web.trend.note(web.broker.view(), web.now += 2s);
    }
    return std::string(web.read("/api/v1/overview")["attention"][0]["text"]);
  };
  CHECK(sentence(18, 2500) ==
        "Less than 1 % of runs failed in the last 5 minutes (less than 1 % in the last 30 "
        "seconds)");
  CHECK(sentence(30, 2500) ==
        "1 % of runs failed in the last 5 minutes (1 % in the last 30 seconds)");
  CHECK(sentence(30, 30, 2min) ==
        "100 % of runs failed in the last 5 minutes (no run in the last 30 seconds)");
}

TEST_CASE("overview: says so when there is no room for new jobs, and refuses them") {
  WebFixture web;
  web.broker.set_admission(Admission::kNoJobs);
  CHECK(web.read("/api/v1/overview")["attention"][0]["kind"] == "full");
  CHECK(web.post("/api/v1/jobs", {{"jobtype", "Mail"}, {"args", {1}}}).status == 503);
}

TEST_CASE("overview: a queue that grows for ten minutes says how fast, and when memory is full") {
  WebFixture web;
  const auto grow = [&web](int intervals, int jobs) {
    for (int i = 0; i < intervals; ++i) {
      for (int job = 0; job < jobs; ++job) web.push("Mail", "mail");
      web.acknowledge(web.fetch("mail"));
      const Time end = web.now + 10s;
      while (web.series.next_due() <= end) {
        web.now = std::max(web.now, web.series.next_due());
        web.series.work(web.broker, web.now);
      }
      web.now = end;
    }
    return web.read("/api/v1/overview")["attention"];
  };
  CHECK(grow(59, 22).empty());
  const Json concern = grow(2, 22).at(0);
  CHECK(concern["kind"] == "growing");
  CHECK(concern["level"] == "notice");
  CHECK(concern["queue"] == "mail");
  CHECK(concern["text"] == "grows by 2.1 jobs/s, 1,281 waiting");

  // Half of it is used: as many jobs again take ten minutes.
  web.ledger.memory().limit(web.ledger.memory().needed_bytes() * 2);
  const Json soon = web.read("/api/v1/overview")["attention"].at(0);
  CHECK(soon["level"] == "trouble");
  CHECK(soon["text"] == "grows by 2.1 jobs/s, 1,281 waiting; --memory-limit is reached in 10 min");

  // A burst is over after five minutes, and a paused queue is another concern.
  CHECK(grow(31, 1).empty());
  CHECK(web.broker.admin().pause("mail", std::nullopt, web.now));
  CHECK(web.read("/api/v1/overview")["attention"].at(0)["kind"] == "paused");
}

TEST_CASE("overview: an error that comes twice as often as before") {
  WebFixture web;
  const auto fail = [&web](int count) {
    for (int i = 0; i < count; ++i) web.fail("Mail", "no route");
    return web.read("/api/v1/overview")["attention"];
  };
  CHECK(fail(kErrorGrowthMin - 1).empty());
  // Nobody knows what was before the server began.
  CHECK(fail(1).empty());
  web.now += 10min;
  CHECK(fail(kErrorGrowthMin - 1).empty());
  const Json concern = fail(1).at(0);
  CHECK(concern["kind"] == "error");
  CHECK(concern["text"] ==
        "Oops occurred 20 times in the last 5 minutes, up from 0 in the 5 minutes before");
  const std::string group = concern["error"];
  CHECK(web.read("/api/v1/errors/" + group)["type"] == "Oops");

  web.now += 5min;
  CHECK(fail(39).empty());
  CHECK(fail(1).at(0)["text"] ==
        "Oops occurred 40 times in the last 5 minutes, up from 20 in the 5 minutes before");
  CHECK(web.post("/api/v1/errors/" + group + "/mute", {{"seconds", 60}}).status == 200);
  CHECK(web.read("/api/v1/overview")["attention"].empty());
}

TEST_CASE("overview: jobs that clients without a wid left behind") {
  WebFixture web;
  SilentSession session;
  const ClientId client = web.broker.connect(session);
  web.push("Mail", "mail", R"(,"reserve_for":1800)");
  web.push("Mail", "mail", R"(,"reserve_for":7200)");
  const ReserveRequest request{
      .choice = ReserveRequest::Choice::kFirstListed, .queues = {"mail"}, .wid = ""};
  for (int i = 0; i < 2; ++i) CHECK(web.broker.reserve(client, request, web.now));
  const auto concerns = [&web] {
    web.now = std::max(web.now, web.stuck.next_due());
    web.stuck.work(web.broker, web.now);
    return web.read("/api/v1/overview")["attention"];
  };
  CHECK(concerns().empty());
  web.broker.disconnect(client, web.now);
  const Json concern = concerns().at(0);
  CHECK(concern["kind"] == "left");
  CHECK(concern["text"] ==
        "2 jobs are held by disconnected clients without a wid; the last times out in 119 min");
}

TEST_CASE("overview: a worker that finishes nothing is likely stuck") {
  WebFixture web;
  web.push("Mail", "mail", R"(,"reserve_for":86400)");
  web.fetch("mail");
  const auto concerns = [&web] {
    web.stuck.work(web.broker, web.now);
    return web.read("/api/v1/overview")["attention"];
  };
  web.now += 14min;
  CHECK(concerns().empty());
  web.now += 2min;
  const Json concern = concerns()[0];
  CHECK(concern["kind"] == "stuck");
  CHECK(concern["wid"] == "w1");
  CHECK(concern["text"] == "is likely stuck: 1 job, none finished for 16 min");
  CHECK(web.read("/api/v1/overview")["health"]["text"] ==
        "Worker box:9 is likely stuck: 1 job, none finished for 16 min.");
}

TEST_CASE("overview: so is one that keeps a job, and has no connection") {
  WebFixture web;
  web.push("Mail", "mail", R"(,"reserve_for":86400)");
  const ClientId php = web.worker("php");
  REQUIRE(web.broker.reserve(
      php, {.choice = ReserveRequest::Choice::kFirstListed, .queues = {"mail"}, .wid = "php"},
      web.now));
  web.broker.disconnect(php, web.now);
  web.now += 16min;
  web.stuck.work(web.broker, web.now);
  CHECK(web.read("/api/v1/overview")["attention"][0]["text"] ==
        "is gone or likely stuck: 1 job, none finished for 16 min");
}

}  // namespace millrace::http
