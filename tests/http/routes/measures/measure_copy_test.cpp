#include "http/routes/measures/measure_copy.hpp"

#include <string>
#include <vector>

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

Measures measures_of(WebFixture& web) {
  return {.series = web.series,
          .failures = web.failures,
          .alerts = web.alerts,
          .trend = web.trend,
          .fleet = web.fleet};
}

std::string copy_of(WebFixture& web) {
  MeasureCopy copy(measures_of(web));
  while (!copy.work()) continue;
  return copy.encode();
}

/// Measures the interval of ten seconds that ends next.
void measure(WebFixture& web) {
  web.now = Time{(ends_at(web.now).front() + 1) * 10s};
  for (int i = 0; i < 20; ++i, web.now += 1ms) web.series.work(web.broker, web.now);
}

/// Three jobs of a type in a queue, one of which fails.
void fill(WebFixture& web) {
  measure(web);
  for (const char* const jobtype : {"Mail", "Mail"}) {
    const JobId id = web.push(jobtype);
    CHECK(web.fetch() == id);
    web.acknowledge(id);
  }
  web.fail("Mail", "refused");
  measure(web);
}

}  // namespace

TEST_CASE("measure copy: another process knows what was, and goes on from there") {
  WebFixture web;
  fill(web);
  const std::string bytes = copy_of(web);
  const Json server = web.read("/api/v1/series?span=15m");
  CHECK(server["processed"].back() == 3);

  WebFixture next;
  next.now = web.now + 20s;
  CHECK(restore(bytes, measures_of(next), next.now));
  measure(next);
  const JobId id = next.push("Mail");
  CHECK(next.fetch() == id);
  next.acknowledge(id);
  measure(next);
  for (const std::string query : {"", "&queue=default", "&type=Mail"}) {
    CAPTURE(query);
    Json expected = web.read("/api/v1/series?span=15m" + query)["processed"];
    // What came after the copy, before the next process ran, nobody knows.
    for (const Json& each : {Json(nullptr), Json(nullptr), Json(0), Json(1)}) {
      expected.push_back(each);
    }
    CHECK(next.read("/api/v1/series?span=15m" + query)["processed"] == expected);
  }
  const Json error = next.read("/api/v1/errors")["groups"][0];
  CHECK(error["type"] == "Oops");
  CHECK(error["hours"] == Json{1});
  CHECK(error["last_at"].is_string());
}

TEST_CASE("measure copy: the trend and the hosts of workers survive a restart") {
  WebFixture web;
  for (int i = 0; i < 3; ++i, web.now += 2s) {
    web.push("Mail");
    web.trend.note(web.broker.view(), web.now);
  }
  web.fleet.work(web.broker, web.now);
  WebFixture next;
  next.now = web.now + 20s;
  CHECK(restore(copy_of(web), measures_of(next), next.now));
  CHECK(next.fleet.find("w1")->hostname == "box");
  REQUIRE(next.trend.samples().size() == 3);
  next.push("Mail");
  next.trend.note(next.broker.view(), next.now);
  CHECK(next.trend.samples().back().enqueued == 4);
  // What is older than the trend reaches is left out.
  WebFixture late;
  late.now = web.now + 1h;
  CHECK(restore(copy_of(web), measures_of(late), late.now));
  CHECK(late.trend.samples().empty());
}

TEST_CASE("measure copy: what came in an interval that has not ended is in its point") {
  WebFixture web;
  fill(web);
  const auto runs_of = [](WebFixture& fixture, const std::string& query) {
    std::uint64_t sum = 0;
    const Json series = fixture.read("/api/v1/series?span=24h" + query);
    for (const Json& each : series["processed"])
      sum += each.is_null() ? 0 : each.get<std::uint64_t>();
    return sum;
  };
  std::string bytes = copy_of(web);
  Time now = web.now;
  // Through two processes within one interval of the day's chart, and to its end.
  for (const std::uint64_t added : {0, 1, 1}) {
    WebFixture next;
    next.now = now + 10s;
    CHECK(restore(bytes, measures_of(next), next.now));
    measure(next);
    if (added > 0) {
      const JobId id = next.push("Mail");
      CHECK(next.fetch() == id);
      next.acknowledge(id);
    }
    measure(next);
    bytes = copy_of(next);
    now = next.now;
  }
  WebFixture last;
  last.now = now + 10min;
  CHECK(restore(bytes, measures_of(last), last.now));
  measure(last);
  CHECK(runs_of(last, "") == 5);
  CHECK(runs_of(last, "&type=Mail") == 5);
  CHECK(runs_of(last, "&queue=default") == 4);
}

TEST_CASE(
    "measure copy: there are never more lines than one process has, and none of former months") {
  WebFixture web;
  fill(web);
  std::string bytes = copy_of(web);
  Time now = web.now;
  for (int process = 0; process < 2; ++process) {
    WebFixture next;
    next.now = now;
    CHECK(restore(bytes, measures_of(next), next.now));
    for (int i = 0; i < 700; ++i) {
      const std::string name = "T" + std::to_string(process) + "-" + std::to_string(i);
      const JobId id = next.push(name, name);
      CHECK(next.fetch(name) == id);
      next.acknowledge(id);
    }
    for (int i = 0; i < 5; ++i) measure(next);
    CHECK(next.series.type_names().size() <= TypeMeters::kTypesMax + 1);
    CHECK(next.series.queue_names().size() <= Series::kQueuesMax);
    bytes = copy_of(next);
    now = next.now;
  }
  WebFixture last;
  last.now = now + 31 * 24h;
  CHECK(restore(bytes, measures_of(last), last.now));
  CHECK(last.series.queue_names().empty());
  measure(last);
  CHECK(last.series.type_names().empty());
}

TEST_CASE("measure copy: a copy of a copy is the same, slice by slice") {
  WebFixture web;
  fill(web);
  for (int i = 0; i < 300; ++i) web.put("x", "tube-" + std::to_string(i));
  measure(web);
  const std::string bytes = copy_of(web);
  WebFixture next;
  next.now = web.now;
  CHECK(restore(bytes, measures_of(next), next.now));
  CHECK(next.series.queue_names().size() == 302);
  CHECK(copy_of(next).size() == bytes.size());
}

TEST_CASE("measure copy: bytes that are damaged or cut are refused whole") {
  WebFixture web;
  fill(web);
  const std::string bytes = copy_of(web);
  WebFixture next;
  next.now = web.now;
  for (std::size_t at = 0; at < bytes.size(); at += 7) {
    CHECK_FALSE(restore(bytes.substr(0, at), measures_of(next), next.now));
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    CHECK_FALSE(restore(damaged, measures_of(next), next.now));
  }
  CHECK(next.series.queue_names().empty());
  CHECK(next.series.server() == nullptr);
}

TEST_CASE("measure copy: what is of a time to come is left out") {
  WebFixture web;
  fill(web);
  const std::string bytes = copy_of(web);
  WebFixture next;
  next.now = web.now - 1h;
  CHECK(restore(bytes, measures_of(next), next.now));
  CHECK(next.series.queue_names().empty());
  CHECK(next.series.server() == nullptr);
  CHECK(next.failures.size() == 0);
}

}  // namespace millrace::http
