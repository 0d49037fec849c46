#include "http/routes/measures/trend.hpp"

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("trend: rates are differences of totals") {
  WebFixture web;
  web.trend.note(web.broker.view(), web.now);
  web.push("A");
  web.push("A");
  web.now += 2s;
  web.trend.note(web.broker.view(), web.now);
  CHECK(web.trend.rates(30s).enqueued == 1.0);
  CHECK(web.read("/api/v1/trend")["samples"].size() == 2);
  CHECK(web.read("/api/v1/trend?since=1700000000000")["samples"].size() == 1);
}

TEST_CASE("trend: a sample has the number of jobs in each state") {
  WebFixture web;
  web.push("A");
  web.push("A", "later", R"(,"at":"2099-01-01T00:00:00Z")");
  web.fail("A", "x");
  web.fail("A", "x", true);
  web.fail("A", "x", true);
  web.push("A", "held");
  web.fetch("held");
  web.trend.note(web.broker.view(), web.now);
  const Json trend = web.read("/api/v1/trend");
  CHECK(trend["members"] == Json{"at_ms", "processed", "failed", "enqueued", "ready", "reserved",
                                 "scheduled", "retrying", "dead"});
  Json counts = trend["samples"][0];
  counts.erase(counts.begin(), counts.begin() + 4);
  CHECK(counts == Json{1, 1, 1, 1, 2});
}

TEST_CASE("trend: a sample is taken when one is due, and old ones go") {
  WebFixture web;
  for (std::size_t i = 0; i < Trend::kSamplesMax + 5; ++i, web.now += 1s) {
    web.trend.note(web.broker.view(), web.now);
    web.now += 1s;
    web.trend.note(web.broker.view(), web.now);
  }
  CHECK(web.trend.samples().size() == Trend::kSamplesMax);
}

}  // namespace millrace::http
