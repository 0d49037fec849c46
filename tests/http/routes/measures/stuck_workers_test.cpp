#include "http/routes/measures/stuck_workers.hpp"

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

constexpr std::string_view kLong = R"(,"reserve_for":86400)";

/// Looks at all jobs.
void look(WebFixture& web) {
  web.now = std::max(web.now, web.stuck.next_due());
  web.stuck.work(web.broker, web.now);
  while (web.stuck.next_due() == web.now + StuckWorkers::kTurnPause) {
    web.now = web.stuck.next_due();
    web.stuck.work(web.broker, web.now);
  }
}

TEST_CASE("stuck workers: one is when all its jobs began long ago") {
  WebFixture web;
  web.push("A", "mail", kLong);
  web.push("A", "mail", kLong);
  web.push("A", "mail", kLong);
  web.fetch("mail");
  web.now += 10min;
  web.fetch("mail");
  web.now += 10min;
  look(web);
  CHECK(web.stuck.find("w1") == nullptr);
  web.now += 6min;
  look(web);
  REQUIRE(web.stuck.find("w1") != nullptr);
  CHECK(web.stuck.find("w1")->jobs == 2);
  web.fetch("mail");
  look(web);
  CHECK(web.stuck.find("w1") == nullptr);
}

TEST_CASE("stuck workers: one that holds a job and has stopped sending BEAT is") {
  WebFixture web;
  web.push("A", "mail", kLong);
  web.fetch("mail");
  CHECK(web.broker.workers().beat("w1", Worker::State::kRunning, 0, web.now));
  const Time beat_at = web.now;
  web.now += 60s;
  look(web);
  CHECK(web.stuck.find("w1") == nullptr);
  web.now += 16s;
  look(web);
  REQUIRE(web.stuck.find("w1") != nullptr);
  CHECK(web.stuck.find("w1")->since == beat_at);
}

TEST_CASE("stuck workers: long runs that are usual are none") {
  WebFixture web;
  web.push("A", "video", kLong);
  const JobId id = web.fetch("video");
  web.now += 3h;
  web.acknowledge(id);
  web.push("A", "video", kLong);
  web.fetch("video");
  web.now += 1h;
  look(web);
  CHECK(web.stuck.find("w1") == nullptr);
  web.now += 6h;
  look(web);
  CHECK(web.stuck.find("w1") != nullptr);
}

TEST_CASE("stuck workers: many jobs are looked at in several turns") {
  WebFixture web;
  for (std::size_t i = 0; i < StuckWorkers::kJobsATurn + 1; ++i) {
    web.push("A", "mail", kLong);
    web.fetch("mail");
  }
  web.now += 20min;
  web.stuck.work(web.broker, web.now);
  CHECK(web.stuck.all().empty());
  look(web);
  CHECK(web.stuck.find("w1")->jobs == StuckWorkers::kJobsATurn + 1);
}

}  // namespace
}  // namespace millrace::http
