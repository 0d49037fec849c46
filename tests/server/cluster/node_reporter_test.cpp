#include "server/cluster/node_reporter.hpp"

#include "server/relay/relay_ends.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

const Time kStart{1000s};

/// A server that follows, and the web port of its leader.
struct Following {
  Following() { leader.listen(); }

  /// True: a report was made.
  bool work(Time now) {
    bool is_made = false;
    reporter.work(Address{.host = "127.0.0.1", .port = leader.port()}, now, [&] {
      is_made = true;
      return NodeReporter::Signed{.report = R"({"node":"b"})", .signature = "abc"};
    });
    return is_made;
  }

  std::string received(const End& end) {
    std::string all;
    CHECK(comes(poller, [&] { return (all += end.receive()).find("\r\n\r\n") != all.npos; }));
    return all;
  }

  LeaderPort leader;
  Poller poller;
  bool is_elsewhere = true;
  NodeReporter reporter{poller, [this](const SocketName&) { return is_elsewhere; }};
};

}  // namespace

TEST_CASE("node reporter: the leader gets the report and its signature") {
  Following node;
  CHECK(node.work(kStart));
  const End end = node.leader.accept();
  const std::string request = node.received(end);
  CHECK(request.find("POST /cluster/report HTTP/1.1\r\n") == 0);
  CHECK(request.find("\r\nx-millrace-node: {\"node\":\"b\"}\r\n") != request.npos);
  CHECK(request.find("\r\nx-millrace-signature: abc\r\n") != request.npos);
}

TEST_CASE("node reporter: the next report is made after a while, and when the last is over") {
  Following node;
  CHECK(node.work(kStart));
  CHECK_FALSE(node.work(kStart + kReportInterval / 2));
  End end = node.leader.accept();
  CHECK_FALSE(node.work(kStart + kReportInterval));
  end.close();
  CHECK(comes(node.poller, [&] { return node.work(kStart + 2 * kReportInterval); }));
}

TEST_CASE("node reporter: another leader does not wait for the report to the last one") {
  Following node;
  CHECK(node.work(kStart));
  const End silent = node.leader.accept();
  const LeaderPort next;
  next.listen();
  bool is_made = false;
  for (int i = 1; i <= 2; ++i) {
    node.reporter.work(Address{.host = "127.0.0.1", .port = next.port()},
                       kStart + i * kReportInterval, [&] {
                         is_made = true;
                         return NodeReporter::Signed{.report = "b", .signature = "abc"};
                       });
  }
  CHECK(is_made);
  CHECK(node.received(next.accept()).starts_with("POST "));
}

TEST_CASE("node reporter: nothing is sent to where the leader cannot be, until it can") {
  Following node;
  node.is_elsewhere = false;
  CHECK_FALSE(node.work(kStart));
  CHECK(node.reporter.is_out_of_reach());
  CHECK_FALSE(node.work(kStart + kReportInterval));
  node.is_elsewhere = true;
  CHECK(node.work(kStart + 2 * kReportInterval));
  CHECK_FALSE(node.reporter.is_out_of_reach());
  (void)node.received(node.leader.accept());
}

TEST_CASE("node reporter: without a leader nothing is made") {
  Poller poller;
  NodeReporter reporter(poller, {});
  bool is_made = false;
  reporter.work(std::nullopt, kStart, [&] {
    is_made = true;
    return NodeReporter::Signed{};
  });
  CHECK_FALSE(is_made);
}

}  // namespace millrace::server
