#include "http/routes/measures/failure_series.hpp"

#include <numeric>
#include <string>

#include "core/model/failure_group.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

constexpr std::size_t kShortest = 0;
constexpr Time kBegin{std::chrono::seconds{1'700'000'000}};

Failure failure_of(const std::string& message) {
  return {.errtype = "Timeout", .message = message};
}

struct FailureSeriesTest {
  FailureSeries series;
  Time now = kBegin;

  void fail(const std::string& message) { series.on_failed(failure_of(message), 7, now); }

  /// nullopt: nothing is kept of it.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> counts(const std::string& message,
                                                                 std::size_t span = kShortest) {
    return series.counts(failure_group_number(failure_of(message)), span, ends_at(now)[span]);
  }
};

std::uint64_t sum_of(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

TEST_CASE_FIXTURE(FailureSeriesTest, "failure series: a group counts failures in each interval") {
  fail("after 3 s");
  fail("after 4 s");
  fail("other");
  CHECK(counts("after 5 s").value().empty());
  now += 10s;
  CHECK(counts("after 5 s").value() == std::vector<std::uint64_t>{2});
  now += 20s;
  fail("after 6 s");
  now += 10s;
  CHECK(counts("after 5 s").value() == std::vector<std::uint64_t>{2, 0, 0, 1});
  CHECK(counts("other").value() == std::vector<std::uint64_t>{1, 0, 0, 0});
  CHECK_FALSE(counts("never seen"));
}

TEST_CASE_FIXTURE(FailureSeriesTest, "failure series: the job that failed last is known") {
  fail("a");
  series.on_failed(failure_of("a"), 8, now);
  CHECK(series.last_job(failure_group_number(failure_of("a"))) == 8);
  CHECK(series.last_job(failure_group_number(failure_of("b"))) == 0);
}

TEST_CASE_FIXTURE(FailureSeriesTest, "failure series: each span has its own intervals") {
  for (int i = 0; i < 7; ++i, now += 10min) fail("no");
  CHECK(sum_of(counts("no", 0).value()) == 1);
  CHECK(sum_of(counts("no", 1).value()) == 6);
  CHECK(sum_of(counts("no", 2).value()) == 7);
}

TEST_CASE_FIXTURE(FailureSeriesTest, "failure series: what is older than a span is gone") {
  fail("no");
  now += 24h;
  CHECK(counts("no", 0).value() == std::vector<std::uint64_t>(kSpans[0].points, 0));
  fail("no");
  now += 10s;
  CHECK(sum_of(counts("no", 0).value()) == 1);
}

TEST_CASE_FIXTURE(FailureSeriesTest, "failure series: an idle group makes room, a busy one not") {
  // Letters that are no hexadecimal digits.
  const auto message = [](std::size_t i) {
    const auto letter = [](std::size_t digit) { return static_cast<char>('g' + digit % 20); };
    return std::string{letter(i), letter(i / 20), letter(i / 400)};
  };
  for (std::size_t i = 0; i < FailureSeries::kGroupsMax; ++i) fail(message(i));
  fail("one more");
  CHECK_FALSE(counts("one more"));
  now += FailureSeries::kIdleAfter;
  fail(message(0));
  fail("one more");
  CHECK(series.size() == FailureSeries::kGroupsMax);
  CHECK(counts("one more"));
  CHECK(counts(message(0)));
  CHECK_FALSE(counts(message(1)));
}

TEST_CASE("series: a group of failures has the numbers of its failures, resolved ones too") {
  WebFixture web;
  web.fail("Sync", "no answer");
  web.fail("Sync", "no answer");
  const Json errors = web.read("/api/v1/errors");
  const std::string group = errors["groups"][0]["group"];
  CHECK(web.post("/api/v1/jobs/1/delete").status == 200);
  web.now += 10s;
  const Json series = web.read("/api/v1/series?group=" + group);
  CHECK(series["is_recorded"] == true);
  CHECK(series["failed"] == Json{2});
  CHECK(series["interval_s"] == 10);
  CHECK_FALSE(series.contains("processed"));
  CHECK(web.read("/api/v1/series?group=0123456789abcdef")["is_recorded"] == false);
  CHECK(web.get("/api/v1/series?group=0123").status == 400);
  CHECK(web.get("/api/v1/series?type=A&group=" + group).status == 400);
}

}  // namespace
}  // namespace millrace::http
