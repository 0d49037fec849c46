#include "http/routes/measures/series.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "http/kit/text.hpp"
#include "http/routes/measures/measure_copy.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

/// Turns until the meters were read at this time.
int read_meters(WebFixture& web) {
  int turns = 0;
  for (const Time began = web.now; web.series.next_due() <= began + 1s; ++turns) {
    web.now = std::max(web.now, web.series.next_due());
    web.series.work(web.broker, web.now);
  }
  return turns;
}

/// Until the end of the present interval of ten seconds, and of so many more.
void pass(WebFixture& web, int intervals = 1) {
  for (int i = 0; i < intervals; ++i) {
    web.now = std::max(web.now, web.series.next_due());
    read_meters(web);
  }
}

void run(WebFixture& web, std::string_view queue) {
  const JobId id = web.push("Mail", queue);
  CHECK(web.fetch(queue) == id);
  web.acknowledge(id);
}

struct SeriesFixture : WebFixture {
  SeriesFixture() { read_meters(*this); }
};

TEST_CASE_FIXTURE(SeriesFixture, "series: what came in an interval is in its point") {
  run(*this, "mail");
  push("Mail", "mail");
  pass(*this);
  pass(*this);
  const Json mail = read("/api/v1/series?queue=mail");
  CHECK(mail["interval_s"] == 10);
  CHECK(mail["is_recorded"] == true);
  CHECK(mail["ready"] == Json({1, 1}));
  CHECK(mail["enqueued"] == Json({2, 0}));
  CHECK(mail["processed"] == Json({1, 0}));
  CHECK(mail["failed"] == Json({0, 0}));
  CHECK(mail["wait_p95_s"][0].is_number());
  CHECK(mail["wait_p95_s"][1].is_null());
  CHECK(mail["run_p50_s"][0].is_number());
  CHECK(mail["ends_at"].get<std::string>().ends_with("0.000Z"));
}

TEST_CASE_FIXTURE(SeriesFixture,
                  "series: a queue that was there without jobs is counted from the first on") {
  SilentSession session;
  CHECK(broker.connections().use(broker.connect(session), "mail"));
  pass(*this, 2);
  CHECK(series.find_queue("mail") == nullptr);
  run(*this, "mail");
  pass(*this, 2);
  CHECK(read("/api/v1/series?queue=mail")["processed"] == Json({1, 0}));
}

TEST_CASE_FIXTURE(SeriesFixture, "series: the server has what all queues have") {
  run(*this, "mail");
  run(*this, "thumbs");
  fail("Sync", "no");
  pass(*this);
  const Json all = read("/api/v1/series");
  CHECK(all["enqueued"].back() == 3);
  CHECK(all["processed"].back() == 3);
  CHECK(all["failed"].back() == 1);
  CHECK(all["run_p95_s"].back().is_number());
}

TEST_CASE_FIXTURE(SeriesFixture, "series: a type has its runs, and nothing of queues") {
  run(*this, "mail");
  pass(*this);
  const Json mail = read("/api/v1/series?type=Mail");
  CHECK(mail["processed"] == Json({1}));
  CHECK(mail["run_p50_s"].back().is_number());
  CHECK_FALSE(mail.contains("ready"));
  CHECK_FALSE(mail.contains("wait_p50_s"));
  CHECK(read("/api/v1/series?type=Sync")["is_recorded"] == false);
}

TEST_CASE_FIXTURE(SeriesFixture, "series: longer spans have longer intervals") {
  run(*this, "mail");
  pass(*this, 60);
  run(*this, "mail");
  pass(*this, 60);
  const Json hour = read("/api/v1/series?span=1h&queue=mail");
  CHECK(hour["interval_s"] == 30);
  CHECK(hour["processed"].size() == 40);
  std::uint64_t sum = 0;
  for (const Json& each : hour["processed"]) sum += each.get<std::uint64_t>();
  CHECK(sum == 2);
  // The first interval ended 400 s after the begin, the second one 600 s later.
  CHECK(read("/api/v1/series?span=24h&queue=mail")["processed"] == Json({1, 1}));
  CHECK(read("/api/v1/series?span=15m&queue=mail")["processed"].size() == 90);
}

TEST_CASE_FIXTURE(SeriesFixture, "series: weeks and months have points of hours") {
  run(*this, "mail");
  pass(*this, 400);  // an hour ends 2,800 s after the begin
  run(*this, "mail");
  pass(*this, 1200);  // four hours end 13,600 s after the begin
  const Json week = read("/api/v1/series?span=7d&queue=mail");
  CHECK(week["interval_s"] == 3600);
  CHECK(week["processed"] == Json({1, 1, 0, 0}));
  const Json month = read("/api/v1/series?span=30d&type=Mail");
  CHECK(month["interval_s"] == 4 * 3600);
  CHECK(month["processed"] == Json({2}));
  CHECK(get("/api/v1/series?span=1y").status == 400);
}

TEST_CASE_FIXTURE(SeriesFixture, "series: nothing is in an interval that ended before it came") {
  const auto day = [this](const char* of) {
    return read(std::string("/api/v1/series?span=24h&") + of)["processed"];
  };
  pass(*this, 45);  // an interval of ten minutes ends after 40
  run(*this, "mail");
  pass(*this);
  CHECK(day("queue=mail") == Json::array());
  CHECK(day("type=Mail") == Json::array());
  pass(*this, 60);
  CHECK(day("queue=mail") == Json({1}));
  CHECK(day("type=Mail") == Json({1}));
}

TEST_CASE_FIXTURE(SeriesFixture, "series: a queue that comes again begins where it does") {
  const JobId id = put("body", "brief");
  pass(*this, 45);
  CHECK(broker.admin().change(id, Mutation::Action::kDiscard, now).has_value());
  pass(*this, 60);  // an interval of ten minutes ends without it
  put("body", "brief");
  pass(*this);
  CHECK(read("/api/v1/series?span=24h&queue=brief")["enqueued"] == Json({1, 0}));
  pass(*this, 60);
  CHECK(read("/api/v1/series?span=24h&queue=brief")["enqueued"] == Json({1, 0, 1}));
}

TEST_CASE_FIXTURE(SeriesFixture, "series: while a queue was gone, nothing waited or ran in it") {
  for (int i = 0; i < 3; ++i) run(*this, "mail");
  pass(*this);
  static_cast<void>(broker.admin().flush(worker("other"), now));
  settle();
  REQUIRE(broker.view().queues().find("mail") == nullptr);
  pass(*this);
  push("Mail", "mail");
  pass(*this);
  const Json mail = read("/api/v1/series?queue=mail");
  CHECK(mail["processed"] == Json({3, 0, 0}));
  CHECK(mail["wait_p95_s"][0].is_number());
  CHECK(mail["wait_p95_s"][1].is_null());
  CHECK(mail["run_p50_s"][1].is_null());
}

TEST_CASE_FIXTURE(SeriesFixture, "series: a FLUSH adds nothing to what came before") {
  for (int i = 0; i < 3; ++i) run(*this, "mail");
  pass(*this);
  static_cast<void>(broker.admin().flush(worker("other"), now));
  settle();
  run(*this, "mail");
  pass(*this);
  const Json all = read("/api/v1/series");
  CHECK(all["enqueued"] == Json({3, 1}));
  CHECK(all["processed"] == Json({3, 1}));
}

TEST_CASE_FIXTURE(SeriesFixture, "series: after a pause what came is spread over it") {
  run(*this, "mail");
  pass(*this);
  for (int i = 0; i < 4; ++i) run(*this, "mail");
  now += 30s;
  pass(*this);
  CHECK(read("/api/v1/series?queue=mail")["processed"] == Json({1, 1, 1, 2}));
}

TEST_CASE_FIXTURE(SeriesFixture, "series: a queue that is gone has a line of nothing") {
  const JobId id = put("body", "brief");
  pass(*this);
  CHECK(broker.admin().change(id, Mutation::Action::kDiscard, now).has_value());
  REQUIRE(broker.view().queues().find("brief") == nullptr);
  pass(*this, 2);
  CHECK(read("/api/v1/series?queue=brief")["ready"] == Json({1, 0, 0}));
  put("body", "brief");
  pass(*this);
  const Json again = read("/api/v1/series?queue=brief");
  CHECK(again["enqueued"] == Json({1, 0, 0, 1}));
  CHECK(again["ready"].back() == 1);
}

TEST_CASE_FIXTURE(SeriesFixture, "series: a turn reads some meters, and lines are bounded") {
  for (std::size_t i = 0; i < Series::kQueuesMax + 5; ++i) put("body", "q" + std::to_string(i));
  now = std::max(now, series.next_due());
  CHECK(read_meters(*this) >= 5);
  const std::string last = "/api/v1/series?queue=q" + std::to_string(Series::kQueuesMax + 4);
  CHECK(read("/api/v1/series?queue=q3")["is_recorded"] == true);
  CHECK(read(last)["is_recorded"] == false);
  // A queue without jobs makes room.
  const Job* const job = broker.view().jobs().first_ready(*broker.view().queues().find("q3"));
  CHECK(broker.admin().change(job->id, Mutation::Action::kDiscard, now).has_value());
  pass(*this, 92);
  CHECK(read("/api/v1/series?queue=q3")["is_recorded"] == false);
}

TEST_CASE_FIXTURE(SeriesFixture, "series: a part of a span is shown, by the shortest that has it") {
  pass(*this);
  const auto ms = [this] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  };
  const auto since = ms() / 10'000 * 10'000;
  run(*this, "mail");
  pass(*this);
  run(*this, "mail");
  run(*this, "mail");
  pass(*this, 3);
  const auto part = [&](std::int64_t from_s, std::int64_t to_s) {
    return read(concat("/api/v1/series?queue=mail&since_ms=", since + from_s * 1000,
                       "&until_ms=", since + to_s * 1000));
  };
  CHECK(part(0, 20)["processed"] == Json({1, 2}));
  CHECK(part(10, 20)["processed"] == Json({2}));
  CHECK(part(10, 12)["processed"] == Json({2}));
  CHECK(part(10, 20)["ends_at"] == part(0, 20)["ends_at"]);
  CHECK(part(0, 20)["span"] == "15m");
  CHECK(part(-3000, 20)["span"] == "1h");
  CHECK(part(-90'000, 20)["interval_s"] == 3600);
  CHECK(part(5000, 6000)["processed"].empty());
}

/// Blocks as the server keeps them, and the time of a day's last point.
struct ArchiveFixture : WebFixture {
  ArchiveFixture() {
    now = Time{(ends_at(now).front() / 90 + 1) * 900s};
    site.read_block = [this](const Block& block) {
      ++reads;
      const auto found = blocks.find({block.span, block.number});
      return found == blocks.end() ? std::string() : found->second;
    };
    read_meters(*this);
  }

  /// Up to the end of the block of ten seconds at hand, which is kept.
  void end_block() {
    const Block block{.span = 0, .number = series.ends().front() / 90};
    while (series.ends().front() < block.begin() + block.points()) pass(*this);
    MeasureCopy copy({series, failures, alerts, trend, fleet}, block);
    while (!copy.work()) continue;
    blocks[{block.span, block.number}] = copy.encode();
  }

  [[nodiscard]] Json part(const std::string& of, Duration age, Duration length) {
    const auto ms = [](Time time) { return time.time_since_epoch() / 1ms; };
    return read(concat("/api/v1/series?since_ms=", ms(now - age),
                       "&until_ms=", ms(now - age + length), of));
  }

  std::map<std::pair<std::size_t, std::int64_t>, std::string> blocks;
  int reads = 0;
};

TEST_CASE_FIXTURE(ArchiveFixture, "series: a part of last night is shown in steps of ten seconds") {
  run(*this, "mail");
  fail("Sync", "no");
  pass(*this);
  const Time night = now;
  for (int i = 0; i < 40; ++i) end_block();
  CHECK(now - night > 9h);
  for (const auto& [of, runs] :
       {std::pair("&queue=mail", 1), {"&type=Mail", 1}, {"&type=Sync", 1}, {"", 2}}) {
    const Json then = part(of, now - night + 20s, 15min);
    CHECK(then["interval_s"] == 10);
    CHECK(then["is_recorded"] == true);
    CHECK(then["processed"].size() >= 90);
    int sum = 0;
    for (const Json& each : then["processed"]) sum += each.get<int>();
    CHECK(sum == runs);
  }
  const std::string group = read("/api/v1/errors")["groups"][0]["group"];
  const Json failures_then = part("&group=" + group, now - night + 20s, 1min);
  CHECK(failures_then["type"] == "Oops");
  int failed = 0;
  for (const Json& each : failures_then["failed"]) failed += each.get<int>();
  CHECK(failed == 1);
}

TEST_CASE_FIXTURE(ArchiveFixture, "series: blocks are read only where memory ends") {
  run(*this, "mail");
  for (int i = 0; i < 3; ++i) end_block();
  reads = 0;
  CHECK(part("&queue=mail", 10min, 5min)["interval_s"] == 10);
  CHECK(reads == 0);
  CHECK(part("&queue=mail", 40min, 40min)["processed"].size() >= 240);
  CHECK(reads == 2);
  // What is longer than 1,440 points has longer intervals.
  CHECK(part("&queue=mail", 5h, 5h)["interval_s"] == 300);
}

TEST_CASE_FIXTURE(ArchiveFixture, "series: a block that is lost or damaged is a gap") {
  for (int i = 0; i < 4; ++i) {
    run(*this, "mail");
    end_block();
  }
  auto second = std::next(blocks.begin());
  std::next(second)->second = "damaged";
  blocks.erase(second);
  const Json then = part("&queue=mail", 1h, 1h);
  CHECK(then["processed"].size() == 360);
  int sum = 0;
  int unknown = 0;
  for (const Json& each : then["processed"]) {
    each.is_null() ? void(++unknown) : void(sum += each.get<int>());
  }
  CHECK(sum == 2);
  CHECK(unknown == 180);
  CHECK(part("&queue=never", 1h, 1h)["is_recorded"] == false);
}

TEST_CASE("series: what makes no sense is refused") {
  WebFixture web;
  CHECK(web.get("/api/v1/series?span=2h").status == 400);
  CHECK(web.get("/api/v1/series?queue=a&type=b").status == 400);
  CHECK(web.read("/api/v1/series")["is_recorded"] == false);
}

}  // namespace
}  // namespace millrace::http
