#include "http/desk.hpp"
#include "http/kit/text.hpp"
#include "http/routes/attention.hpp"
#include "http/routes/job_filter.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("metrics: jobs by queue and state, age, counters and histograms") {
  Desk desk;
  desk.push("Mail", "mail");
  desk.now += 3s;
  desk.fail("Mail", "x");
  const std::string text = desk.get("/metrics").body;
  CHECK(has_line(text, R"(millrace_jobs{queue="mail",state="ready"} 1)"));
  CHECK(has_line(text, R"(millrace_jobs{queue="failing",state="retrying"} 1)"));
  CHECK(has_line(text, R"(millrace_oldest_ready_seconds{queue="mail"} 3)"));
  CHECK(has_line(text, R"(millrace_queue_failed_total{queue="failing"} 1)"));
  CHECK(has_line(text, R"(millrace_wait_seconds_bucket{queue="failing",le="0.001"} 1)"));
  CHECK(has_line(text, R"(millrace_run_seconds_count{queue="failing"} 1)"));
  CHECK(has_line(text, "millrace_failed_total 1"));
}

TEST_CASE("metrics: a queue that never ran has no histograms") {
  Desk desk;
  desk.put("x", "idle");
  const std::string text = desk.get("/metrics").body;
  CHECK(text.find(R"(millrace_jobs{queue="idle",state="ready"} 1)") != std::string::npos);
  CHECK(text.find(R"(_seconds_bucket{queue="idle")") == std::string::npos);
}

TEST_CASE("metrics: a queue's name is escaped") {
  Desk desk;
  desk.put("x", "a\"b\\c");
  CHECK(has_line(desk.get("/metrics").body, R"(millrace_jobs{queue="a\"b\\c",state="ready"} 1)"));
}

namespace {

/// With `default` so many queues; all others have a job.
void fill_queues(Desk& desk, int count) {
  for (int i = 1; i < count; ++i) desk.put("x", "q" + std::to_string(i));
}

bool has_label(const std::string& text, const std::string& queue) {
  return text.find("millrace_jobs{queue=\"" + queue + "\",state=\"ready\"}") != std::string::npos;
}

}  // namespace

TEST_CASE("metrics: beyond a thousand queues jobs are added up") {
  Desk desk;
  fill_queues(desk, 1000);
  CHECK(has_line(desk.get("/metrics").body, "millrace_queues_without_label 0"));
  desk.put("x", "one-more");
  desk.put("x", "yet-one-more");
  const std::string text = desk.get("/metrics").body;
  CHECK(has_line(text, "millrace_queues_without_label 2"));
  CHECK_FALSE(has_label(text, "default"));
  CHECK(has_label(text, "one-more"));
  CHECK_FALSE(has_label(text, "yet-one-more"));
  CHECK(has_line(text, R"(millrace_jobs{queue="",state="ready"} 1)"));
}

TEST_CASE("metrics: queues that hold most jobs, or had most to do lately, have labels") {
  Desk desk;
  fill_queues(desk, 1200);
  desk.put("x", "full");
  desk.put("x", "full");
  desk.now += 1min;
  for (int i = 0; i < 3; ++i) {
    const JobId id = desk.push("Mail", "quick");
    CHECK(desk.post(concat("/api/v1/jobs/", id, "/delete")).status == 200);
  }
  const std::string text = desk.get("/metrics").body;
  CHECK(has_label(text, "full"));
  CHECK(has_label(text, "quick"));
  CHECK(has_label(text, "q998"));
  CHECK_FALSE(has_label(text, "q999"));
}

TEST_CASE("metrics: many queues are looked at in turns, also for the overview") {
  Desk desk;
  fill_queues(desk, 10'000);
  CHECK(has_line(desk.get("/metrics").body, "millrace_queues 10000"));
  CHECK(desk.turns == 2);
  desk.now += 2min;
  desk.put("x", "late");
  CHECK(desk.read("/api/v1/overview")["attention_left_out"] == 9999 - kConcernsOfKindMax);
  CHECK(desk.turns == 3);
}

TEST_CASE("metrics: a queue that goes between the turns is left out") {
  Desk desk;
  const JobId only = desk.put("x", "brief");
  fill_queues(desk, 6000);
  Response part = desk.ask(request_of("GET", "/metrics"));
  REQUIRE(part.go_on);
  CHECK(desk.broker.admin().change(only, Mutation::Action::kDiscard, desk.now));
  part = part.go_on(desk.now);
  REQUIRE(part.write_body);
  CHECK_FALSE(has_label(part.write_body(), "brief"));
}

TEST_CASE("metrics: without a journal nothing is said about one") {
  Desk desk;
  CHECK(desk.get("/metrics").body.find("millrace_journal") == std::string::npos);
  desk.system.has_journal = true;
  desk.system.journal_bytes = 4096;
  CHECK(has_line(desk.get("/metrics").body, "millrace_journal_bytes 4096"));
  CHECK(has_line(desk.get("/metrics").body, "millrace_journal_live_share 0"));
  CHECK(has_line(desk.get("/metrics").body, "millrace_journal_segments_removed_total 0"));
}

TEST_CASE("stats: what INFO answers") {
  Desk desk;
  desk.push("Mail", "mail");
  desk.put("x", "tube");
  const std::string stats = desk.get("/stats").body;
  CHECK(stats == desk.door.info(desk.now, {{"mail", 1}, {"tube", 1}})());
  CHECK(stats.find(R"("queues":{"mail":1,"tube":1})") != std::string::npos);
  CHECK(Json::parse(stats)["faktory"]["total_queues"] == 2);
}

TEST_CASE("stats: many queues are looked at in turns") {
  Desk desk;
  fill_queues(desk, 5002);
  CHECK(desk.read("/stats")["faktory"]["total_queues"] == 5001);
  CHECK(desk.turns == 2);
  CHECK(desk.read("/health")["status"] == "serving");
}

TEST_CASE("health: 200 while serving, 503 while stopping") {
  Desk desk;
  CHECK(desk.get("/health").status == 200);
  desk.traffic.is_stopping = true;
  CHECK(desk.get("/health").status == 503);
}

TEST_CASE("health: 503 while the disk stores nothing, and the overview says so") {
  Desk desk;
  desk.traffic.is_stalled = true;
  CHECK(desk.get("/health").status == 503);
  CHECK(Json::parse(desk.get("/health").body)["status"] == "stalled");
  const Json overview = desk.read("/api/v1/overview");
  CHECK(overview["health"]["level"] == "trouble");
  CHECK(overview["attention"][0]["kind"] == "stalled");
}

TEST_CASE("health: 200 without room for new jobs, since all else is served") {
  Desk desk;
  CHECK(Json::parse(desk.get("/health").body)["accepts_jobs"] == true);
  CHECK(has_line(desk.get("/metrics").body, "millrace_accepts_jobs 1"));
  desk.broker.set_admission(Admission::kNoJobs);
  CHECK(desk.read("/health")["accepts_jobs"] == false);
  CHECK(has_line(desk.get("/metrics").body, "millrace_accepts_jobs 0"));
}

TEST_CASE("api: where jobs can only be ended, the rest is refused, and the overview says it") {
  Desk desk;
  const std::string job = "/api/v1/jobs/" + std::to_string(desk.push("Mail"));
  desk.broker.set_admission(Admission::kNoGrowth);
  CHECK(desk.post(job + "/kill").status == 503);
  CHECK(desk.post("/api/v1/queues/default/pause").status == 503);
  CHECK(desk.read("/api/v1/overview")["attention"][0]["text"] ==
        "The disk of the journal is full: new jobs are refused, and burying, delays and pauses");
  desk.broker.set_admission(Admission::kEndingsOnly);
  CHECK(desk.post(job + "/delete").status == 200);
}

TEST_CASE("metrics: the memory that jobs take, and its limit") {
  Desk desk;
  CHECK(has_line(desk.get("/metrics").body, "millrace_memory_limit_bytes 0"));
  desk.put(std::string(50'000, 'x'));
  desk.ledger.memory().limit(1'000'000);
  const std::string page = desk.get("/metrics").body;
  CHECK(has_line(page, "millrace_memory_limit_bytes 1000000"));
  CHECK(
      has_line(page, "millrace_jobs_memory_bytes " + std::to_string(desk.ledger.memory().bytes())));
}

TEST_CASE("api: while stopping it shows everything and changes nothing") {
  Desk desk;
  const JobId id = desk.push("Mail");
  desk.traffic.is_stopping = true;
  CHECK(desk.get("/api/v1/overview").status == 200);
  CHECK(desk.post("/api/v1/jobs/" + std::to_string(id) + "/delete").status == 503);
  CHECK(desk.find(id) != nullptr);
}

TEST_CASE("overview: says so when jobs come near --memory-limit") {
  Desk desk;
  desk.put(std::string(50'000, 'x'));
  const std::size_t taken = desk.ledger.memory().needed_bytes();
  desk.ledger.memory().limit(taken * 2);
  CHECK(desk.read("/api/v1/overview")["attention"].empty());
  desk.ledger.memory().limit(taken + taken / 20);
  const Json concern = desk.read("/api/v1/overview")["attention"][0];
  CHECK(concern["kind"] == "memory");
  CHECK(concern["text"] == "Jobs take 95 % of --memory-limit; at 100 % new ones are refused");
  CHECK(desk.read("/api/v1/server")["job_memory_bytes_max"] == taken + taken / 20);
}

TEST_CASE("overview: health in one sentence, and what needs attention") {
  Desk desk;
  CHECK(desk.read("/api/v1/overview")["health"]["text"] == "All is well: ready for the first job.");
  desk.push("Mail", "mail");
  desk.now += 2min;
  const Json shown = desk.read("/api/v1/overview");
  CHECK(shown["health"]["level"] == "trouble");
  CHECK(shown["health"]["text"] == "mail has 1 waiting job and nobody who takes it.");
  CHECK(shown["attention"][0]["kind"] == "abandoned");
  CHECK(shown["attention"][0]["queue"] == "mail");
  CHECK(shown["oldest_ready"]["queue"] == "mail");
}

TEST_CASE("overview: many troubles of one kind hide no other") {
  Desk desk;
  for (int i = 0; i < 9; ++i) desk.push("Mail", "mail-" + std::to_string(i));
  desk.push("Mail", "paused");
  CHECK(desk.broker.admin().pause("paused", std::nullopt, desk.now));
  desk.now += 2min;
  const Json shown = desk.read("/api/v1/overview");
  REQUIRE(shown["attention"].size() == kConcernsOfKindMax + 1);
  CHECK(shown["attention"].back()["kind"] == "paused");
  CHECK(shown["attention_left_out"] == 5);
  CHECK(shown["health"]["text"] ==
        "mail-0 has 1 waiting job and nobody who takes it; 9 more things to look at.");
}

TEST_CASE("overview: of many troubles of one kind the longest backlogs are shown") {
  Desk desk;
  for (int i = 0; i < 9; ++i) desk.push("Mail", "mail-" + std::to_string(i));
  for (int i = 0; i < 1000; ++i) desk.push("Mail", "mail-8");
  desk.push("Mail", "mail-5");
  desk.now += 2min;
  const Json shown = desk.read("/api/v1/overview");
  CHECK(shown["health"]["text"] ==
        "mail-8 has 1,001 waiting jobs and nobody who takes them; 8 more things to look at.");
  REQUIRE(shown["attention"].size() == kConcernsOfKindMax);
  CHECK(shown["attention"][0]["queue"] == "mail-8");
  CHECK(shown["attention"][1]["queue"] == "mail-5");
  CHECK(shown["attention"][2]["queue"] == "mail-0");
  CHECK(shown["attention"][3]["queue"] == "mail-1");
}

TEST_CASE("overview: a paused queue with jobs, a full disk") {
  Desk desk;
  desk.push("Mail", "mail");
  CHECK(desk.broker.admin().pause("mail", std::nullopt, desk.now));
  desk.system.disk_total_bytes = 100;
  desk.system.disk_free_bytes = 7;
  const Json attention = desk.read("/api/v1/overview")["attention"];
  REQUIRE(attention.size() == 2);
  CHECK(attention[0]["text"] == "The disk of the journal has only 7 % left");
  CHECK(attention[1]["text"] == "is paused while 1 job waits");
}

TEST_CASE("overview: says so when there is no room for new jobs, and refuses them") {
  Desk desk;
  desk.broker.set_admission(Admission::kNoJobs);
  CHECK(desk.read("/api/v1/overview")["attention"][0]["kind"] == "full");
  CHECK(desk.post("/api/v1/jobs", {{"jobtype", "Mail"}, {"args", {1}}}).status == 503);
}

TEST_CASE("trend: rates are differences of totals") {
  Desk desk;
  desk.trend.note(desk.broker.view(), desk.now);
  desk.push("A");
  desk.push("A");
  desk.now += 2s;
  desk.trend.note(desk.broker.view(), desk.now);
  CHECK(desk.trend.rates(30s).enqueued == 1.0);
  CHECK(desk.read("/api/v1/trend")["samples"].size() == 2);
  CHECK(desk.read("/api/v1/trend?since=1700000000000")["samples"].size() == 1);
}

TEST_CASE("trend: a sample is taken when one is due, and old ones go") {
  Desk desk;
  for (std::size_t i = 0; i < Trend::kSamplesMax + 5; ++i, desk.now += 1s) {
    desk.trend.note(desk.broker.view(), desk.now);
    desk.now += 1s;
    desk.trend.note(desk.broker.view(), desk.now);
  }
  CHECK(desk.trend.samples().size() == Trend::kSamplesMax);
}

TEST_CASE("history: days within the limit only") {
  Desk desk;
  desk.fail("Mail", "x");
  CHECK(desk.read("/api/v1/history?days=7")["days"][0]["failed"] == 1);
  CHECK(desk.get("/api/v1/history?days=180").status == 200);
  CHECK(desk.get("/api/v1/history?days=181").status == 400);
}

TEST_CASE("errors: failures that differ in numbers are one group") {
  CHECK(normalized_message("job 17 at 0xdeadbeef01 took 3.5 s") == "job # at #x# took #.# s");
  Desk desk;
  desk.fail("Mail", "timeout after 3 s");
  desk.fail("Mail", "timeout after 44 s", true);
  desk.fail("Mail", "refused");
  const Json page = desk.read("/api/v1/errors");
  CHECK(page["next"] == "dead");
  const Json dead = desk.read("/api/v1/errors?cursor=dead");
  REQUIRE(dead["groups"].size() == 1);
  CHECK(dead["groups"][0]["message"] == "timeout after # s");
  CHECK(dead["next"] == "before");
  CHECK(desk.get("/api/v1/errors?cursor=ready").status == 400);
  CHECK(desk.get("/api/v1/errors?cursor=dead:").status == 400);
}

TEST_CASE("errors: what waits again, or is at work again, is still of its group") {
  Desk desk;
  const JobId waits = desk.fail("Mail", "timeout after 3 s");
  const JobId works = desk.fail("Mail", "timeout after 4 s", true);
  desk.push("Mail");
  CHECK(desk.broker.admin().change(works, Mutation::Action::kRequeue, desk.now));
  CHECK(desk.broker.admin().change(waits, Mutation::Action::kRequeue, desk.now));
  CHECK(desk.fetch("failing") == works);
  const Json page = desk.read("/api/v1/errors?cursor=before");
  REQUIRE(page["groups"].size() == 1);
  CHECK(page["groups"][0]["ready"] == 1);
  CHECK(page["groups"][0]["reserved"] == 1);
  CHECK(page["groups"][0]["dead"] == 0);
  CHECK(page["to_look_at"] == 2);
  CHECK(page["next"] == nullptr);
}

TEST_CASE("api: unknown paths and wrong methods") {
  Desk desk;
  CHECK(desk.get("/api/v1/nothing").status == 404);
  CHECK(desk.post("/api/v1/jobs/1/foo").status == 404);
  CHECK(desk.get("/api/v1/jobs/1/foo").status == 404);
  CHECK(desk.post("/api/v1/queues/mail/explode").status == 404);
  CHECK(desk.get("/api/v1/queues/mail/explode").status == 404);
  const auto allowed = [](const Response& response) {
    CHECK(response.status == 405);
    return response.headers.at("Allow");
  };
  CHECK(allowed(desk.post("/api/v1/overview")) == "GET, HEAD");
  CHECK(allowed(desk.post("/api/v1/jobs/count")) == "GET, HEAD");
  CHECK(allowed(desk.post("/api/v1/queues/mail")) == "GET, HEAD");
  CHECK(allowed(desk.get("/api/v1/operations/1/cancel")) == "POST");
  CHECK(allowed(desk.get("/api/v1/jobs/1/retry")) == "POST");
  CHECK(allowed(desk.get("/api/v1/queues/mail/pause")) == "POST");
  desk.put("x", "mail/pause");
  CHECK(desk.read("/api/v1/queues/mail/pause")["ready"] == 1);
}

TEST_CASE("json: a text is cut between characters") {
  CHECK(cut("caf\xc3\xa9", 4) == "caf");
}

}  // namespace millrace::http
