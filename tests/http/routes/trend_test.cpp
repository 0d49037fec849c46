#include "http/routes/trend.hpp"

#include "http/desk.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

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

}  // namespace millrace::http
