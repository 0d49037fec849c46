#include "server/statsd.hpp"

#include <string>

#include "faktory/service.hpp"
#include "server/turn/test_loop.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// A statsd that nobody listens to.
struct StatsdLoop {
  TestLoop loop;
  Log log{[](std::string_view) {}};
  Statsd statsd{{.ticker = loop.ticker,
                 .broker = loop.broker,
                 .format = loop.format,
                 .log = log,
                 .connections = [] { return 3; }}};

  static StatsdOptions options() { return {.location = {.host = "127.0.0.1", .port = 9}}; }
};

}  // namespace

TEST_CASE("statsd: nothing is planned without options, and while another server serves") {
  StatsdLoop each;
  each.statsd.begin();
  CHECK(each.loop.ticker.next() == kNever);
  each.statsd.stop();
  each.statsd.set(StatsdLoop::options());
  CHECK(each.loop.ticker.next() == kNever);
}

TEST_CASE("statsd: with options a report is made ten times a second, until they are taken away") {
  StatsdLoop each;
  each.statsd.set(StatsdLoop::options());
  each.statsd.begin();
  CHECK(each.loop.ticker.next() <= each.loop.clock.now());
  each.loop.ticker.work(each.loop.clock.now());
  CHECK(each.loop.ticker.next() == each.loop.clock.now() + kStatsdInterval);
  each.statsd.set(std::nullopt);
  each.loop.ticker.work(each.loop.clock.now() + kStatsdInterval);
  CHECK(each.loop.ticker.next() == kNever);
}

TEST_CASE("statsd: options that come while the server serves count at once") {
  StatsdLoop each;
  each.statsd.begin();
  each.statsd.set(StatsdLoop::options());
  CHECK(each.loop.ticker.next() <= each.loop.clock.now());
}

}  // namespace millrace::server
