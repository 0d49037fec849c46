#include <string>
#include <vector>

#include "server/statsd.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

using Datagrams = std::vector<std::string>;

/// With this queue and jobtype.
std::string run_line(const StatsdOptions& options, std::string_view queue,
                     std::string_view jobtype) {
  StatsdLines lines(options);
  lines.milliseconds("jobs.perform", 23.7, {{"queue", queue}, {"jobtype", jobtype}});
  const Datagrams datagrams = lines.take();
  REQUIRE(datagrams.size() == 1);
  return datagrams.front();
}

}  // namespace

TEST_CASE("statsd lines: as Faktory Enterprise sends them") {
  CHECK(run_line({.tags = {"env:production"}}, "default", "X") ==
        "faktory.jobs.perform:23.700|ms|#env:production,queue:default,jobtype:X");
}

TEST_CASE("statsd lines: counters and gauges, and several in a datagram") {
  StatsdLines lines({.name_space = "x."});
  lines.count("jobs.count", 3);
  lines.gauge("processed", 12'345'678'901, {});
  lines.gauge("latency", 0.25);
  CHECK(lines.take() ==
        Datagrams{"x.jobs.count:3|c\nx.processed:12345678901|g\nx.latency:0.250|g"});
  CHECK(lines.take().empty());
}

TEST_CASE("statsd lines: no namespace, no tags, and a tag without a value") {
  CHECK(run_line({.name_space = ""}, "q", "") == "jobs.perform:23.700|ms|#queue:q");
  CHECK(run_line({.name_space = "", .tags = {"", "a"}}, "", "") == "jobs.perform:23.700|ms|#a");
}

TEST_CASE("statsd lines: a gauge below zero would be a change") {
  StatsdLines lines({});
  lines.gauge("a", -1);
  CHECK(lines.take() == Datagrams{"faktory.a:0|g"});
}

TEST_CASE("statsd lines: what would end a part of a line is replaced, wherever it comes from") {
  CHECK(run_line({.tags = {"a|b", "c,d", "e\nf"}}, "q|1#2,3@4\r\n", "J:ob\t\x01") ==
        "faktory.jobs.perform:23.700|ms|#a_b,c_d,e_f,queue:q_1_2_3_4__,jobtype:J:ob__");
  StatsdLines lines({.name_space = "a:b|c."});
  lines.gauge("enqueued.q:1|2\n", 1);
  CHECK(lines.take() == Datagrams{"a_b_c.enqueued.q_1_2_:1|g"});
}

TEST_CASE("statsd lines: UTF-8 stays, and other bytes do not") {
  CHECK(run_line({.name_space = ""}, "gr\xc3\xbc\xc3\x9f", "\xff\xc3") ==
        "jobs.perform:23.700|ms|#queue:gr\xc3\xbc\xc3\x9f,jobtype:__");
}

TEST_CASE("statsd lines: long names are cut where a character ends") {
  std::string name = std::string(199, 'x');
  const std::string line = run_line({.name_space = ""}, name + "\xc3\xbcy", "");
  CHECK(line == "jobs.perform:23.700|ms|#queue:" + name);
}

TEST_CASE("statsd lines: a datagram has so many lines, and no more bytes than a packet") {
  StatsdLines few({.name_space = "", .buffer_size = 2});
  for (int i = 0; i < 3; ++i) few.count("a", 1);
  CHECK(few.take() == Datagrams{"a:1|c\na:1|c", "a:1|c"});
  StatsdLines many({.name_space = "", .buffer_size = 1000});
  for (int i = 0; i < 1000; ++i) many.count("a", 1);
  std::size_t bytes = 0;
  const Datagrams datagrams = many.take();
  for (const std::string& each : datagrams) {
    CHECK(each.size() <= kStatsdDatagramBytesMax);
    bytes += each.size();
  }
  CHECK(bytes == 1000 * 6 - datagrams.size());
  CHECK(datagrams.size() == 5);
}

TEST_CASE("statsd lines: the longest line fits into a datagram") {
  StatsdLines lines({.name_space = std::string(100, 'n'), .tags = {std::string(500, 't')}});
  const std::string name(10'000, 'q');
  lines.milliseconds(name, 9e15, {{"queue", name}, {"jobtype", name}});
  CHECK(lines.take().front().size() <= kStatsdDatagramBytesMax);
}

}  // namespace millrace::server
