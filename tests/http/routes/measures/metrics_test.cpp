#include <algorithm>

#include "http/asking.hpp"
#include "http/routes/attention.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

bool has_label(const std::string& text, const std::string& queue) {
  return text.find("millrace_jobs{queue=\"" + queue + "\",state=\"ready\"}") != std::string::npos;
}

}  // namespace

TEST_CASE("metrics: jobs by queue and state, age, counters and histograms") {
  WebFixture web;
  web.push("Mail", "mail");
  web.now += 3s;
  web.fail("Mail", "x");
  const std::string text = web.get("/metrics").body;
  CHECK(has_line(text, R"(millrace_jobs{queue="mail",state="ready"} 1)"));
  CHECK(has_line(text, R"(millrace_jobs{queue="failing",state="retrying"} 1)"));
  CHECK(has_line(text, R"(millrace_oldest_ready_seconds{queue="mail"} 3)"));
  CHECK(has_line(text, R"(millrace_queue_failed_total{queue="failing"} 1)"));
  CHECK(has_line(text, R"(millrace_wait_seconds_bucket{queue="failing",le="0.001"} 1)"));
  CHECK(has_line(text, R"(millrace_run_seconds_count{queue="failing"} 1)"));
  CHECK(has_line(text, "millrace_failed_total 1"));
}

TEST_CASE("metrics: runs by type") {
  WebFixture web;
  CHECK(web.get("/metrics").body.find("{type=") == std::string::npos);
  web.fail(R"(Odd \"type\")", "x");
  const std::string text = web.get("/metrics").body;
  CHECK(has_line(text, R"(millrace_type_processed_total{type="Odd \"type\""} 1)"));
  CHECK(has_line(text, R"(millrace_type_failed_total{type="Odd \"type\""} 1)"));
  CHECK(has_line(text, R"(millrace_type_run_seconds_count{type="Odd \"type\""} 1)"));
}

TEST_CASE("metrics: open connections by protocol") {
  WebFixture web;
  web.traffic.beanstalk_connections = 2;
  web.traffic.faktory_connections = 3;
  const std::string text = web.get("/metrics").body;
  CHECK(has_line(text, R"(millrace_connections{protocol="beanstalk"} 2)"));
  CHECK(has_line(text, R"(millrace_connections{protocol="faktory"} 3)"));
}

TEST_CASE("metrics: each thread with sockets") {
  WebFixture web;
  web.traffic.io = {{.thread = "io_1", .connections = 2, .rounds = 3, .received_bytes = 4},
                    {.thread = "io_2", .sent_bytes = 5, .processor_time = 1500ms}};
  const std::string text = web.get("/metrics").body;
  CHECK(has_line(text, R"(millrace_io_connections{thread="io_1"} 2)"));
  CHECK(has_line(text, R"(millrace_io_rounds_total{thread="io_1"} 3)"));
  CHECK(has_line(text, R"(millrace_io_received_bytes_total{thread="io_1"} 4)"));
  CHECK(has_line(text, R"(millrace_io_sent_bytes_total{thread="io_2"} 5)"));
  CHECK(has_line(text, R"(millrace_io_processor_seconds_total{thread="io_2"} 1.5)"));
}

TEST_CASE("metrics: lines of the log that were lost") {
  WebFixture web;
  web.traffic.log_lines_lost = 7;
  web.traffic.audit_lines_lost = 8;
  CHECK(has_line(web.get("/metrics").body, "millrace_audit_lines_lost_total 8"));
  CHECK(has_line(web.get("/metrics").body, "millrace_log_lines_lost_total 7"));
}

TEST_CASE("metrics: steps of the wall clock, and what it is ahead") {
  WebFixture web;
  web.traffic.clock_steps = 2;
  web.broker.set_wall_clock({.ahead = -90min});
  const std::string text = web.get("/metrics").body;
  CHECK(has_line(text, "millrace_clock_steps_total 2"));
  CHECK(has_line(text, "millrace_clock_ahead_seconds -5400"));
}

TEST_CASE("metrics: runs of cron entries") {
  WebFixture web;
  CronRuns& cron = web.broker.cron();
  REQUIRE(cron.begin("e", 1, Time{1s}));
  cron.note("e", {.planned = Time{2s}, .job = 1, .jid = "jid"});
  cron.note("e", {.planned = Time{3s}, .job = 2, .jid = "jid"});
  cron.note("e", {.planned = Time{4s}, .problem = "no"});
  const std::string text = web.get("/metrics").body;
  CHECK(has_line(text, "millrace_cron_entries 1"));
  CHECK(has_line(text, "millrace_cron_enqueued_total 2"));
  CHECK(has_line(text, "millrace_cron_refused_total 1"));
}

TEST_CASE("metrics: locks, tracks, batches and expired jobs") {
  WebFixture web;
  web.traffic.statsd_left_out = 4;
  const auto push = [&](const std::string& jid, const std::string& custom) {
    return web.service.push(
        R"({"jobtype":"A","args":[],"jid":")" + jid + R"(","custom":)" + custom + "}", web.now,
        access::Caller::everybody());
  };
  REQUIRE(push("unique-1", R"({"unique_for":60})"));
  REQUIRE_FALSE(push("unique-2", R"({"unique_for":60})"));
  REQUIRE(push("tracked-1", R"({"track":1})"));
  REQUIRE(push("expiring-1", R"({"expires_in":1})"));
  web.now += 2s;
  web.broker.tick(web.now);
  const std::string text = web.get("/metrics").body;
  CHECK(has_line(text, "millrace_locks 1"));
  CHECK(has_line(text, "millrace_locks_taken_total 1"));
  CHECK(has_line(text, "millrace_locks_denied_total 1"));
  CHECK(has_line(text, "millrace_tracked_jobs 1"));
  CHECK(has_line(text, "millrace_tracks 0"));
  CHECK(has_line(text, "millrace_jobs_expired_total 1"));
  CHECK(has_line(text, R"(millrace_queue_expired_total{queue="default"} 1)"));
  CHECK(web.read("/api/v1/queues/default")["expired"] == 1);
  CHECK(has_line(text, R"(millrace_batches{state="open"} 0)"));
  CHECK(has_line(text, "millrace_statsd_left_out_total 4"));
}

TEST_CASE("metrics: batches by state") {
  WebFixture web;
  BatchOperations& batches = web.broker.batches();
  const auto add = [&] {
    const JobBatchId id = batches.draw_id();
    REQUIRE(batches.add({.id = id, .parent = 0, .description = {}, .callbacks = {}}, web.now));
    return id;
  };
  add();
  REQUIRE(batches.commit(add(), web.now));
  const std::string text = web.get("/metrics").body;
  CHECK(has_line(text, "millrace_batches_added_total 2"));
  CHECK(has_line(text, R"(millrace_batches{state="open"} 1)"));
  CHECK(has_line(text, R"(millrace_batches{state="finished"} 1)"));
}

TEST_CASE("metrics: a queue that never ran has no histograms") {
  WebFixture web;
  web.put("x", "idle");
  const std::string text = web.get("/metrics").body;
  CHECK(text.find(R"(millrace_jobs{queue="idle",state="ready"} 1)") != std::string::npos);
  CHECK(text.find(R"(_seconds_bucket{queue="idle")") == std::string::npos);
}

TEST_CASE("metrics: the limits of a queue, and what counts against them") {
  WebFixture web;
  const ThrottleRule rule{
      .pattern = "mail",
      .limits = {.concurrency = 2, .timeout_s = 60, .rate_count = 30, .rate_s = 60}};
  web.broker.admin().set_throttle_rules(
      {.list = {rule},
       .find = [rule](std::string_view queue) { return queue == "mail" ? &rule : nullptr; }},
      web.now);
  web.put("x", "mail");
  web.put("x", "other");
  const std::string text = web.get("/metrics").body;
  CHECK(has_line(text, R"(millrace_throttle_limit{queue="mail",kind="concurrency"} 2)"));
  CHECK(has_line(text, R"(millrace_throttle_limit{queue="mail",kind="rate"} 0.5)"));
  CHECK(text.find(R"(millrace_throttle_limit{queue="mail",kind="worker"})") == std::string::npos);
  CHECK(has_line(text, R"(millrace_throttle_taken{queue="mail"} 0)"));
  CHECK(has_line(text, R"(millrace_throttle_waiting{queue="mail"} 0)"));
  CHECK(has_line(text, R"(millrace_throttle_held_total{queue="mail"} 0)"));
  CHECK(has_line(text, R"(millrace_throttle_overage_total{queue="mail"} 0)"));
  CHECK(has_line(text, R"(millrace_throttle_reclaimed_total{queue="mail"} 0)"));
  CHECK(text.find(R"(millrace_throttle_taken{queue="other"})") == std::string::npos);
}

TEST_CASE("metrics: the limits of a type and of each key, and what counts against them") {
  WebFixture web;
  const std::vector<ThrottleRule> list = {
      {.pattern = "mail", .limits = {.timeout_s = 60, .per_key = 3}},
      {.pattern = "type:Send \"it\"", .limits = {.concurrency = 2, .timeout_s = 60}},
      {.pattern = "type:Slow", .limits = {.rate_count = 30, .rate_s = 60}}};
  web.broker.admin().set_throttle_rules(
      {.list = list,
       .find =
           [list](std::string_view name) {
             const auto found = std::find_if(
                 list.begin(), list.end(), [&](const auto& rule) { return rule.pattern == name; });
             return found == list.end() ? nullptr : &*found;
           },
       .types = {list[1].pattern, list[2].pattern},
       .has_types = true},
      web.now);
  web.put("x", "mail");
  web.push(R"(Send \"it\")", "mail");
  web.fetch("mail");
  web.fetch("mail");
  const std::string text = web.get("/metrics").body;
  CHECK(has_line(text, R"(millrace_throttle_limit{queue="mail",kind="per_key"} 3)"));
  const std::string type = R"({type="Send \"it\"")";
  CHECK(has_line(text, "millrace_throttle_limit" + type + R"(,kind="concurrency"} 2)"));
  CHECK(has_line(text, "millrace_throttle_taken" + type + "} 1"));
  CHECK(has_line(text, "millrace_throttle_held_total" + type + "} 1"));
  CHECK(has_line(text, R"(millrace_throttle_limit{type="Slow",kind="rate"} 0.5)"));
  // No client waits for a type, and no job takes a slot of a rate.
  CHECK(text.find("millrace_throttle_waiting{type=") == std::string::npos);
  CHECK(text.find(R"(millrace_throttle_taken{type="Slow"})") == std::string::npos);
}

TEST_CASE("metrics: where only a rate limits a queue, all its running jobs are counted") {
  WebFixture web;
  const ThrottleRule rule{.pattern = "mail", .limits = {.rate_count = 30, .rate_s = 60}};
  web.broker.admin().set_throttle_rules(
      {.list = {rule},
       .find = [rule](std::string_view queue) { return queue == "mail" ? &rule : nullptr; }},
      web.now);
  web.put("x", "mail");
  web.fetch("mail");
  CHECK(has_line(web.get("/metrics").body, R"(millrace_throttle_taken{queue="mail"} 1)"));
}

TEST_CASE("metrics: a queue's name is escaped") {
  WebFixture web;
  web.put("x", "a\"b\\c");
  CHECK(has_line(web.get("/metrics").body, R"(millrace_jobs{queue="a\"b\\c",state="ready"} 1)"));
}

TEST_CASE("metrics: beyond a thousand queues jobs are added up") {
  WebFixture web;
  fill_queues(web, 1000);
  CHECK(has_line(web.get("/metrics").body, "millrace_queues_without_label 0"));
  web.put("x", "one-more");
  web.put("x", "yet-one-more");
  const std::string text = web.get("/metrics").body;
  CHECK(has_line(text, "millrace_queues_without_label 2"));
  CHECK_FALSE(has_label(text, "default"));
  CHECK(has_label(text, "one-more"));
  CHECK_FALSE(has_label(text, "yet-one-more"));
  CHECK(has_line(text, R"(millrace_jobs{queue="",state="ready"} 1)"));
}

TEST_CASE("metrics: many queues are looked at in turns, also for the overview") {
  WebFixture web;
  fill_queues(web, 10'000);
  CHECK(has_line(web.get("/metrics").body, "millrace_queues 10000"));
  CHECK(web.turns == 2);
  web.now += 2min;
  web.put("x", "late");
  CHECK(web.read("/api/v1/overview")["attention_left_out"] == 9999 - kConcernsOfKindMax);
  CHECK(web.turns == 3);
}

TEST_CASE("metrics: a queue that is removed between the turns is left out") {
  WebFixture web;
  const JobId only = web.put("x", "brief");
  fill_queues(web, 6000);
  Response part = web.ask(request_of("GET", "/metrics"));
  REQUIRE(part.go_on);
  CHECK(web.broker.admin().change(only, Mutation::Action::kDiscard, web.now));
  part = part.go_on(web.now);
  REQUIRE(part.write_body);
  CHECK_FALSE(has_label(part.write_body(), "brief"));
}

TEST_CASE("metrics: without a journal nothing is said about one") {
  WebFixture web;
  CHECK(web.get("/metrics").body.find("millrace_journal") == std::string::npos);
  web.system.has_journal = true;
  web.system.journal_bytes = 4096;
  CHECK(has_line(web.get("/metrics").body, "millrace_journal_bytes 4096"));
  CHECK(has_line(web.get("/metrics").body, "millrace_journal_live_share 0"));
  CHECK(has_line(web.get("/metrics").body, "millrace_journal_segments_removed_total 0"));
}

TEST_CASE("metrics: the memory that jobs take, and its limit") {
  WebFixture web;
  CHECK(has_line(web.get("/metrics").body, "millrace_memory_limit_bytes 0"));
  web.put(std::string(50'000, 'x'));
  web.ledger.memory().limit(1'000'000);
  const std::string page = web.get("/metrics").body;
  CHECK(has_line(page, "millrace_memory_limit_bytes 1000000"));
  CHECK(
      has_line(page, "millrace_jobs_memory_bytes " + std::to_string(web.ledger.memory().bytes())));
}

}  // namespace millrace::http
