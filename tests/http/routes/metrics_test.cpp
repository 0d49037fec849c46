#include "http/asking.hpp"
#include "http/desk.hpp"
#include "http/routes/attention.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

bool has_label(const std::string& text, const std::string& queue) {
  return text.find("millrace_jobs{queue=\"" + queue + "\",state=\"ready\"}") != std::string::npos;
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

}  // namespace millrace::http
