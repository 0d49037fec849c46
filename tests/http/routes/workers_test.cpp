#include <cstdint>
#include <limits>

#include "http/asking.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("workers: one that came after they were counted is not listed") {
  WebFixture web;
  const std::string before = as_of_now(web);
  web.now += 1s;
  const Json none{{"all", true}, {"as_of", "1.0"}};
  CHECK(web.post("/api/v1/workers/stop", none).body == R"({"told":0})");
  CHECK(web.post("/api/v1/workers/stop", {{"all", true}, {"as_of", before}}).body ==
        R"({"told":1})");
}

TEST_CASE("workers: quiet one, stop all") {
  WebFixture web;
  CHECK(web.post("/api/v1/workers/quiet", {{"wid", "w1"}}).body == R"({"told":1})");
  CHECK(web.read("/api/v1/workers")["workers"][0]["state"] == "quiet");
  CHECK(web.post("/api/v1/workers/stop", {{"all", true}}).body == R"({"told":1})");
  CHECK(web.read("/api/v1/workers")["workers"][0]["state"] == "stopping");
  const Response unknown = web.post("/api/v1/workers/quiet", {{"wid", "w2"}});
  CHECK(unknown.status == 404);
  CHECK(unknown.body == R"({"error":"no connected worker has this wid"})");
  CHECK(web.post("/api/v1/workers/quiet").status == 400);
}

TEST_CASE("workers: a worker may say any number as its memory") {
  WebFixture web;
  const auto shown_after = [&](std::int64_t kilobytes) {
    CHECK(web.broker.workers().beat("w1", Worker::State::kRunning, kilobytes, web.now));
    return web.read("/api/v1/workers")["workers"][0]["rss_bytes"].get<std::int64_t>();
  };
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  CHECK(shown_after(5) == 5 * 1024);
  CHECK(shown_after(kMax / 1024) == kMax / 1024 * 1024);
  CHECK(shown_after(kMax) == kMax / 1024 * 1024);
  CHECK(shown_after(std::numeric_limits<std::int64_t>::min()) == 0);
}

TEST_CASE("workers: one says what it has run, over all its connections") {
  WebFixture web;
  for (int i = 0; i < 3; ++i) {
    web.push("A");
    const JobId id = web.fetch();
    web.now += 2s;
    web.acknowledge(id);
  }
  // Another of its connections reports a failure, and leaves.
  SilentSession session;
  const ClientId second = web.broker.connect(session);
  CHECK(web.broker.workers().add(second, {.wid = "w1"}, web.now));
  web.push("A");
  const JobId failing = web.fetch();
  web.now += 4s;
  CHECK(
      web.broker.workers().fail(second, web.format.identify(*web.find(failing)).jid, {}, web.now));
  const auto check = [&web](int connections) {
    const Json worker = web.read("/api/v1/workers/w1");
    CHECK(worker["processed"] == 4);
    CHECK(worker["failed"] == 1);
    CHECK(worker["busy_s"] == 10);
    CHECK(worker["processed_per_s"] > worker["failed_per_s"]);
    CHECK(worker["failed_per_s"] > 0);
    CHECK(worker["connections"] == connections);
    CHECK(worker["are_jobs_counted"] == true);
  };
  check(2);
  web.broker.disconnect(second, web.now);
  check(1);
  CHECK(web.read("/api/v1/workers")["workers"][0]["processed"] == 4);
  CHECK(web.get("/api/v1/workers/w2").body == R"({"error":"no connected worker has this wid"})");
}

TEST_CASE("workers: its page has its queues, its jobs, and those that ended on it") {
  WebFixture web;
  for (int i = 10; i < 47; ++i) {
    web.push("A", "q" + std::to_string(i));
    web.fetch("q" + std::to_string(i));
    web.now += 1s;
  }
  const Json worker = web.read("/api/v1/workers/w1");
  CHECK(worker["queues"].size() == 37);
  CHECK(worker["jobs"] == 37);
  const Json job = web.read("/api/v1/jobs?state=reserved&wid=w1")["jobs"][0];
  CHECK(job["reservation"]["hostname"] == "box");
  CHECK(job["reservation"]["pid"] == 9);
  web.acknowledge(job["id"]);
  const Json ended = web.read("/api/v1/finished?wid=w1")["jobs"];
  REQUIRE(ended.size() == 1);
  CHECK(ended[0]["hostname"] == "box");
  CHECK(ended[0]["pid"] == 9);
  CHECK(web.read("/api/v1/finished?wid=w2")["jobs"].empty());
}

TEST_CASE("workers: of many queues the first are named, and all are counted") {
  WebFixture web;
  for (int i = 10; i < 47; ++i) {
    web.push("A", "q" + std::to_string(i));
    web.fetch("q" + std::to_string(i));
    web.now += 1s;
  }
  const Json worker = web.read("/api/v1/workers")["workers"][0];
  CHECK(worker["queues"].size() == 20);
  CHECK(worker["queue_count"] == 37);
}

TEST_CASE("workers: the queues that one has asked for within a minute") {
  WebFixture web;
  web.push("A", "mail");
  web.fetch("mail");
  web.now += 59s;
  CHECK(web.read("/api/v1/workers")["workers"][0]["queues"] == Json{"mail"});
  web.now += 1s;
  CHECK(web.read("/api/v1/workers")["workers"][0]["queues"] == Json::array());
}

TEST_CASE("workers: jobs in hand are counted and listed") {
  WebFixture web;
  const JobId id = web.push("Mail");
  CHECK(web.fetch() == id);
  CHECK(web.read("/api/v1/workers")["workers"][0]["jobs"] == 1);
  CHECK(web.read("/api/v1/jobs?state=reserved&wid=w1")["jobs"][0]["id"] == id);
}

TEST_CASE("workers: those that are likely stuck are listed alone") {
  WebFixture web;
  web.worker("w2");
  web.push("Mail", "mail", R"(,"reserve_for":86400)");
  web.fetch("mail");
  web.now += 20min;
  web.stuck.work(web.broker, web.now);
  const Json stuck = web.read("/api/v1/workers?stuck=1")["workers"];
  REQUIRE(stuck.size() == 1);
  CHECK(stuck[0]["wid"] == "w1");
  CHECK(stuck[0]["stuck_since"] == "2023-11-14T22:13:20.000Z");
  CHECK(web.read("/api/v1/workers")["workers"][1]["stuck_since"].is_null());
  CHECK(web.get("/api/v1/workers?stuck=yes").status == 400);
}

TEST_CASE("workers: a running job tells how long runs of its queue usually take") {
  WebFixture web;
  web.push("Mail");
  const JobId done = web.fetch();
  web.now += 2s;
  web.acknowledge(done);
  web.push("Mail");
  web.fetch();
  const Json held = web.read("/api/v1/jobs?state=reserved")["jobs"][0]["reservation"];
  CHECK(held["usual_run_s"] > 1);
  CHECK(held["usual_run_s"] <= 5);
}

}  // namespace millrace::http
