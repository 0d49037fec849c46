#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "server/statsd.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// A UDP port of this machine that listens.
class UdpPort {
 public:
  UdpPort() : descriptor_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const general = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(descriptor_, general, size) == 0);
    REQUIRE(::getsockname(descriptor_, general, &size) == 0);
    port_ = ntohs(address.sin_port);
    // Nothing takes so long.
    const timeval longest{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  }
  ~UdpPort() { ::close(descriptor_); }
  UdpPort(const UdpPort&) = delete;
  UdpPort& operator=(const UdpPort&) = delete;

  [[nodiscard]] StatsdOptions options() const {
    return {.location = {.host = "localhost", .port = port_}};
  }
  /// The next one that is not empty: empty ones only ask whether somebody listens.
  [[nodiscard]] std::string receive() const {
    std::string text(65'536, '\0');
    ssize_t size = 0;
    while (size == 0) size = ::recv(descriptor_, text.data(), text.size(), 0);
    REQUIRE(size >= 0);
    text.resize(static_cast<std::size_t>(size));
    return text;
  }

 private:
  int descriptor_;
  std::uint16_t port_ = 0;
};

StatsdReport report_of(const StatsdCounts& counts) {
  return {.runs = {}, .counts = counts, .gauges = {}};
}

}  // namespace

TEST_CASE("statsd sender: counts are sent as what they have become more") {
  const UdpPort port;
  StatsdSender sender(port.options(), {.processed = 100, .failed = 7});
  sender.hand_over(report_of({.processed = 103, .failed = 7, .expired = 1}));
  CHECK(port.receive() == "faktory.jobs.count:3|c\nfaktory.jobs.expired:1|c");
  sender.hand_over(report_of({.processed = 104, .failed = 8, .expired = 1}));
  CHECK(port.receive() == "faktory.jobs.count:1|c\nfaktory.jobs.failed:1|c");
  CHECK(sender.problem().empty());
}

TEST_CASE("statsd sender: counts that begin anew are no huge ones") {
  const auto datagrams = datagrams_of(report_of({.processed = 2}), {.processed = 10}, {});
  CHECK(datagrams == std::vector<std::string>{"faktory.jobs.count:2|c"});
}

TEST_CASE("statsd sender: runs and gauges") {
  StatsdReport report;
  report.runs.add(1500us, "mail", "Send");
  report.gauges = StatsdGauges{.values = {{"dead", 3}},
                               .queues = {{.name = "mail", .size = 2, .latency_s = 0.5}},
                               .latencies = {{.name = "critical", .size = 0, .latency_s = 4}}};
  const auto datagrams = datagrams_of(report, {}, {});
  REQUIRE(datagrams.size() == 1);
  CHECK(datagrams.front() ==
        "faktory.jobs.perform:1.500|ms|#queue:mail,jobtype:Send\n"
        "faktory.dead:3|g\n"
        "faktory.queue.size:2|g|#queue:mail\n"
        "faktory.queue.latency:0.500|g|#queue:mail\n"
        "faktory.enqueued.mail:2|g\n"
        "faktory.latency.critical:4|g");
}

TEST_CASE("statsd sender: a host that is not there is told, and nobody waits") {
  StatsdSender sender({.location = {.host = "no-such-host.invalid", .port = 1}}, {});
  const auto begin = std::chrono::steady_clock::now();
  sender.hand_over(report_of({.processed = 1}));
  CHECK(std::chrono::steady_clock::now() - begin < 1s);
  while (sender.problem().empty()) std::this_thread::yield();
  CHECK(sender.problem().starts_with("cannot find no-such-host.invalid: "));
}

TEST_CASE("statsd sender: a port where nobody listens is told") {
  StatsdOptions options;
  {
    const UdpPort port;
    options = port.options();
  }
  options.location.host = "127.0.0.1";
  StatsdSender sender(options, {});
  std::uint64_t count = 0;
  while (sender.problem().empty()) {
    sender.hand_over(report_of({.processed = ++count}));
    std::this_thread::yield();
  }
  CHECK(sender.problem().ends_with("Connection refused"));
}

TEST_CASE("statsd sender: runs that were not sent before the next report are counted") {
  // The thread has to find out that the name is none, or ends in that.
  StatsdSender sender({.location = {.host = "no-such-host.invalid", .port = 1}}, {});
  std::uint64_t handed = 0;
  while (sender.left_out() == 0) {
    StatsdReport report = report_of({});
    report.runs.add(1ms, "q", "");
    sender.hand_over(std::move(report));
    ++handed;
  }
  CHECK(sender.left_out() <= handed);
}

}  // namespace millrace::server
